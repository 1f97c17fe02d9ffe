// Command sandbox runs a real Kubernetes control plane on loopback, for the
// demonstration, the tests and the benchmarks of TeamSpace.
package main

import (
	"os"

	"labhub.io/teamspace/sandbox/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
}
