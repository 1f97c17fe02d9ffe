package conflict

import (
	"testing"

	"labhub.io/teamspace/test/world"
)

// lab has no policies: what is tested here they would not let happen, and the controller
// has to cope with it wherever they are not, or were not at the time.
var lab = &world.Shared{Options: world.Options{Flags: []string{"--set=policies.enabled=false"}}}

func TestMain(m *testing.M) { lab.Run(m) }
