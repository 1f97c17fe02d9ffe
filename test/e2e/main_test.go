package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"labhub.io/teamspace/test/program"
	"labhub.io/teamspace/test/world"
)

// asked is set by `make e2e`.
const asked = "TEAMSPACE_E2E"

var lab = &world.Shared{}

func TestMain(m *testing.M) {
	if os.Getenv(asked) == "" {
		fmt.Println("the chart is not tested on a real node: make e2e does that")
		return
	}
	root, err := program.Root()
	if err != nil {
		panic(err)
	}
	lab.Options.Node = []string{filepath.Join(root, "bin", "manager.tar"), filepath.Join(root, "bin", "cert-manager.tar")}
	lab.Run(m)
}
