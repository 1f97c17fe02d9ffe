package api

import (
	"testing"

	"labhub.io/teamspace/test/world"
)

// lab has the type and no manager.
var lab = &world.Shared{Prepare: world.WithoutManager}

func TestMain(m *testing.M) { lab.Run(m) }
