// Command cert-manager is the controllers and the cainjector of cert-manager in one program, for
// a pod of the end-to-end tests: with the account of that pod.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"labhub.io/teamspace/test/certmanager"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	if err := certmanager.Run(ctx, ""); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "cert-manager:", err)
		cancel()
		os.Exit(1)
	}
}
