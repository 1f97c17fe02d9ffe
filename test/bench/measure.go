package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
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

// Findings runs the audit and returns what it finds, by object: "error R11". It fails if
// something could not be read, and of an object with two findings both are told.
func Findings(ctx context.Context, path string, args ...string) (map[string]string, error) {
	out, err := exec.CommandContext(ctx, path, args...).Output()
	if ended, isExit := errors.AsType[*exec.ExitError](err); err != nil && (!isExit || ended.ExitCode() != 1) {
		return nil, fmt.Errorf("running %s: %w", path, err)
	}
	var report struct {
		Findings []struct {
			Rule, Severity string

			Object struct{ Kind, Namespace, Name string }
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, fmt.Errorf("reading the report of %s: %w", path, err)
	}
	found := map[string]string{}
	for _, f := range report.Findings {
		at := nameOf(f.Object.Kind, f.Object.Namespace, f.Object.Name)
		found[at] = strings.TrimPrefix(found[at]+", "+f.Severity+" "+f.Rule, ", ")
	}
	return found, nil
}
