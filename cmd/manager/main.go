// Command manager runs a part of TeamSpace: the controller that serves TeamSpaces, or the
// webhooks that guard owner references.
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
