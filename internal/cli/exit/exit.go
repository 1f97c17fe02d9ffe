// Package exit is the status with which the plugin ends: scripts tell by it what was found
// without reading a word.
package exit

import (
	"errors"
	"fmt"
)

// The statuses.
const (
	Clean        = 0 // everything was looked at, and nothing was found
	Findings     = 1 // something was found
	CouldNotTell = 2 // something could not be looked at, whatever else was found
)

// Error ends a subcommand with a status. It has no cause when the report, which is
// printed by then, says all there is to say.
type Error struct {
	Status int
	Cause  error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("ended with status %d", e.Status)
	}
	return e.Cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// After ends a subcommand whose report is printed. What could not be looked at beats what
// was found.
func After(found, incomplete bool) error {
	switch {
	case incomplete:
		return &Error{Status: CouldNotTell}
	case found:
		return &Error{Status: Findings}
	default:
		return nil
	}
}

// Status returns the status that an error stands for. An error of any other kind kept the
// subcommand from its work, so that nothing can be told.
func Status(err error) int {
	if err == nil {
		return Clean
	}
	if ended, ok := errors.AsType[*Error](err); ok {
		return ended.Status
	}
	return CouldNotTell
}

// Silent reports whether there is nothing more to say than the status.
func Silent(err error) bool {
	ended, ok := errors.AsType[*Error](err)
	return ok && ended.Cause == nil
}
