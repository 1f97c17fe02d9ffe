package storm

import (
	"testing"

	"labhub.io/teamspace/test/world"
)

var lab = &world.Shared{}

func TestMain(m *testing.M) { lab.Run(m) }
