package outage

import (
	"testing"

	"labhub.io/teamspace/test/world"
)

// lab has a quota controller that looks at every quota again after a short time. Whoever
// deletes a quota that is then made again with the same limits, while the watch of the
// quota controller is broken, is seen as nobody by it (docs/states.md).
var lab = &world.Shared{Options: world.Options{Flags: []string{"--controller-manager-flag=resource-quota-sync-period=15s"}}}

func TestMain(m *testing.M) { lab.Run(m) }
