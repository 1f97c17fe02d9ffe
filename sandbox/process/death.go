package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	// shownLines is how much of a log an error carries.
	shownLines = 15
	// readBytes bounds what is read of a log to find these lines.
	readBytes = 64 << 10
)

// DeathError says that a program ended without being asked to.
type DeathError struct {
	// Name is the program's, Outcome how it ended ("exit status 1"), Log the
	// path of its log and Tail the log's last lines.
	Name, Outcome, Log, Tail string
}

// newDeathError describes the end of r.
func newDeathError(d Definition, r *run) *DeathError {
	return &DeathError{Name: d.Name, Outcome: r.outcome(), Log: d.Log, Tail: tail(d.Log, r.logged)}
}

// Error is a line that names the program, followed by the end of its log.
func (e *DeathError) Error() string {
	if e.Tail == "" {
		return fmt.Sprintf("%s ended unexpectedly (%s); its log %s is empty", e.Name, e.Outcome, e.Log)
	}
	return fmt.Sprintf("%s ended unexpectedly (%s); the end of %s:\n%s", e.Name, e.Outcome, e.Log, e.Tail)
}

// Tail returns the last lines of a log, indented, or "" if there are none.
func Tail(path string) string { return tail(path, 0) }

// tail is Tail of what comes after the first bytes of the log.
func tail(path string, skip int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	if _, err := f.Seek(max(skip, info.Size()-readBytes), io.SeekStart); err != nil {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, readBytes))
	if err != nil {
		return ""
	}
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return ""
	}
	lines := strings.Split(string(data), "\n")
	lines = lines[max(0, len(lines)-shownLines):]
	return "    " + strings.Join(lines, "\n    ")
}

// The reasons of a start that a stop has overtaken, and of one after Close.
var (
	errStopped = errors.New("it was stopped before it served")
	errClosed  = errors.New("the sandbox is stopping")
)

// StartError says that a program could not be started.
type StartError struct {
	Name string
	Err  error
}

// Error names the program and the reason.
func (e *StartError) Error() string { return "starting " + e.Name + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

// notServing says that the program runs but does not serve, and why.
func notServing(d Definition, cause, probe error) error {
	if probe == nil || errors.Is(cause, context.Canceled) {
		probe = cause
	}
	return fmt.Errorf("%s runs but does not serve: %w; the end of %s:\n%s", d.Name, probe, d.Log, Tail(d.Log))
}
