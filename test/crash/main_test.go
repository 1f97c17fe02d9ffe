package crash

import (
	"testing"

	"labhub.io/teamspace/test/world"
)

// lab has no manager: each test runs its own, behind a proxy. With no webhooks the
// controller adds the finalizer itself. The archive is that of the chart, so that the
// record is a write like the others.
var lab = &world.Shared{
	Options: world.Options{ChartArchive: true},
	Prepare: world.WithoutManager,
}

func TestMain(m *testing.M) { lab.Run(m) }
