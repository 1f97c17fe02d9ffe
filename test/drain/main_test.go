package drain

import (
	"testing"

	"labhub.io/teamspace/test/world"
)

// lab has no manager of its own: each test installs the chart and runs a controller as it
// needs it. The archive is that of the chart.
var lab = &world.Shared{
	Options: world.Options{ChartArchive: true},
	Prepare: world.WithoutManager,
}

func TestMain(m *testing.M) { lab.Run(m) }
