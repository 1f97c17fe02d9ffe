// Command manager runs TeamSpace: the controller that serves TeamSpaces.
package main

import (
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	if err := newCommand().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "manager: "+err.Error())
		os.Exit(1)
	}
}
