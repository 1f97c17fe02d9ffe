// Command kubectl-teamspace finds, predicts and explains what the garbage collector does.
// On the PATH it is the kubectl subcommand teamspace.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"labhub.io/teamspace/internal/cli"
)

func main() {
	// Whatever client-go would log by itself, as that a server does not answer, is in the
	// error or the note that follows.
	utilruntime.ErrorHandlers = nil
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	status := cli.Run(ctx, os.Args[1:], streams)
	stop()
	os.Exit(status)
}
