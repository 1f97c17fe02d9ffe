package node

import (
	"strings"
	"testing"
)

// TestTrials: what rests on a package that is yet to be installed is not tried, so that its
// absence is not taken for the machine's fault; all else is.
func TestTrials(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, c := range trials {
		if c.possible() {
			t.Errorf("%s %q is tried with nothing installed", c.program, c.args)
		}
		required := false
		for _, r := range requirements {
			required = required || strings.Contains(strings.Join(r.programs, " ")+" ", c.program+" ")
		}
		if !required {
			t.Errorf("%s is no requirement: where it is not installed it would never be tried", c.program)
		}
	}
}
