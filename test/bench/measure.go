package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// Run runs a program to its end and measures it. Its status is that of a report: nothing
// found and something found are both what it was asked for; any other is an error.
func Run(ctx context.Context, path string, args ...string) (Measure, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err := cmd.Run()
	wall := time.Since(began)
	ended, isExit := errors.AsType[*exec.ExitError](err)
	if err != nil && (!isExit || ended.ExitCode() != 1) {
		return Measure{}, fmt.Errorf("running %s: %w\n%s", path, err, out.Bytes())
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return Measure{}, fmt.Errorf("running %s: this system does not say what it used", path)
	}
	return Measure{Wall: wall, Peak: usage.Maxrss * 1024}, nil
}

// Wrong runs the audit and returns how many references it calls wrong, and fails unless
// these are all that it finds.
func Wrong(ctx context.Context, path string, args ...string) (int, error) {
	out, err := exec.CommandContext(ctx, path, args...).Output()
	if ended, isExit := errors.AsType[*exec.ExitError](err); err != nil && (!isExit || ended.ExitCode() != 1) {
		return 0, fmt.Errorf("running %s: %w", path, err)
	}
	var report struct {
		Summary struct{ Error, Warning, Info, Incomplete int }
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return 0, fmt.Errorf("reading the report of %s: %w", path, err)
	}
	if s := report.Summary; s.Warning+s.Info+s.Incomplete > 0 {
		return 0, fmt.Errorf("the audit finds more than there is: %+v", s)
	}
	return report.Summary.Error, nil
}
