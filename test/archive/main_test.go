package archive

import (
	"testing"

	"labhub.io/teamspace/test/world"
)

// lab has the archive that the chart has when nobody chooses another.
var lab = &world.Shared{Options: world.Options{ChartArchive: true}}

func TestMain(m *testing.M) { lab.Run(m) }
