package state

import (
	"testing"

	"labhub.io/teamspace/test/world"
)

// lab tells of a stuck namespace at once and not after minutes.
var lab = &world.Shared{Options: world.Options{Flags: []string{"--set=controller.terminatingAfter=1s"}}}

func TestMain(m *testing.M) { lab.Run(m) }
