// Command pause does nothing until it is told to end: the first container of every pod
// of the sandbox's node, which keeps the pod's network as long as it runs.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	<-signals
}
