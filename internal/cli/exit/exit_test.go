package exit

import (
	"errors"
	"fmt"
	"testing"
)

func TestStatus(t *testing.T) {
	cause := errors.New("no such host")
	for name, tc := range map[string]struct {
		err    error
		status int
		silent bool
	}{
		"nothing found":                   {After(false, false), Clean, false},
		"findings":                        {After(true, false), Findings, true},
		"incomplete":                      {After(false, true), CouldNotTell, true},
		"incomplete beats findings":       {After(true, true), CouldNotTell, true},
		"any other error could not tell":  {cause, CouldNotTell, false},
		"a status with a cause is told":   {&Error{Status: Findings, Cause: cause}, Findings, false},
		"a wrapped status is still there": {fmt.Errorf("explaining: %w", After(true, false)), Findings, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Status(tc.err); got != tc.status {
				t.Errorf("status %d, want %d", got, tc.status)
			}
			if got := Silent(tc.err); got != tc.silent {
				t.Errorf("silent %t, want %t", got, tc.silent)
			}
		})
	}
	if err := (&Error{Status: CouldNotTell, Cause: cause}); !errors.Is(err, cause) || err.Error() != cause.Error() {
		t.Errorf("%v does not unwrap to its cause", err)
	}
}
