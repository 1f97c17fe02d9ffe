package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// tailLines is how much of the output of a failed command is shown.
const tailLines = 25

// compile builds one target and returns how many packages that took; 0 means
// that the binary was there already, or was only linked.
func compile(ctx context.Context, t target, path, ldflags string, out *progress) (int, error) {
	out.note("finding the packages")
	list, err := goOutput(ctx, out, slices.Concat([]string{"list", "-deps"}, t.flags(), []string{t.pkg})...)
	if err != nil {
		return 0, fmt.Errorf("listing the packages of %s: %w", t.binary, err)
	}
	packages := map[string]bool{}
	for name := range strings.FieldsSeq(list) {
		packages[name] = true
	}
	out.note("looking which of %d packages have to be compiled", len(packages))

	compiled := 0
	args := slices.Concat([]string{"build", "-v"}, t.flags(), []string{"-ldflags", ldflags, "-o", path, t.pkg})
	tail, err := goLines(ctx, io.Discard, func(line string) bool {
		if !packages[line] {
			return out.downloading(line)
		}
		compiled++
		out.note("compiled %d packages of at most %d", compiled, len(packages))
		return true
	}, args...)
	if err != nil {
		return compiled, fmt.Errorf("building %s from %s: %w%s", t.binary, t.pkg, err, tail)
	}
	return compiled, nil
}

// goOutput runs the go command and returns what it writes to standard output.
// Downloads that it announces meanwhile go to out.
func goOutput(ctx context.Context, out *progress, args ...string) (string, error) {
	var stdout strings.Builder
	tail, err := goLines(ctx, &stdout, out.downloading, args...)
	if err != nil {
		return "", fmt.Errorf("go %s: %w%s", args[0], err, tail)
	}
	return stdout.String(), nil
}

// goLines runs the go command and hands each line of its standard error to
// used. The lines that used does not want are what went wrong: when the
// command fails, the last of them are returned, indented, for the error.
func goLines(ctx context.Context, stdout io.Writer, used func(string) bool, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	// No C compiler is asked for: every binary is pure Go.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stdout = stdout
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 5 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", errors.New("the go command is not in PATH")
		}
		return "", err
	}
	var tail []string
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if line := lines.Text(); !used(line) {
			tail = append(tail, line)
			tail = tail[max(0, len(tail)-tailLines):]
		}
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		return "", errors.New("interrupted")
	}
	if len(tail) == 0 {
		return "", err
	}
	return "\n    " + strings.Join(tail, "\n    "), err
}
