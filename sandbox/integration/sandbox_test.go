package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"labhub.io/teamspace/sandbox/process"
)

const (
	// startDeadline is generous, because tests of other packages run as well.
	startDeadline = 90 * time.Second
	// stopDeadline is what the sandbox promises.
	stopDeadline = 10 * time.Second
	// worldDeadline is for what controllers do: the garbage collector may look
	// for new types every half minute only.
	worldDeadline = 90 * time.Second
)

// binary returns the path of a binary that make has built.
func binary(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run `make build sandbox` first", err)
	}
	return path
}

// sandbox is a sandbox that runs as a process, in a group of its own.
type sandbox struct {
	t      *testing.T
	dir    string
	cmd    *exec.Cmd
	stderr *buffer
	done   chan struct{}
}

// buffer is a bytes.Buffer that may be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String is what was written so far.
func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// launch starts a sandbox in the directory with a command such as up.
func launch(t *testing.T, dir, command string, args ...string) *sandbox {
	t.Helper()
	s := &sandbox{t: t, dir: dir, stderr: &buffer{}, done: make(chan struct{})}
	s.cmd = exec.Command(binary(t, "sandbox"), append([]string{command, "--dir", dir}, args...)...)
	s.cmd.Stderr = s.stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait() // ProcessState says how it ended
		close(s.done)
	}()
	t.Cleanup(func() {
		s.signal(syscall.SIGTERM)
		select {
		case <-s.done:
		case <-time.After(2 * stopDeadline):
			s.signal(syscall.SIGKILL)
			<-s.done
		}
		if t.Failed() {
			t.Logf("%s said:\n%s", command, s.stderr)
		}
	})
	return s
}

// start starts a sandbox and returns when it is ready. The mark of one that was
// killed is removed here: the sandbox does it too, but only a moment later.
func start(t *testing.T, dir, command string, args ...string) *sandbox {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, "ready")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	s := launch(t, dir, command, args...)
	s.awaitReady(startDeadline)
	return s
}

// awaitReady waits for the file that says so.
func (s *sandbox) awaitReady(within time.Duration) {
	s.t.Helper()
	eventually(s.t, within, "the sandbox is ready", func() error {
		select {
		case <-s.done:
			s.t.Fatalf("the sandbox ended before it was ready:\n%s", s.stderr)
		default:
		}
		_, err := os.Stat(filepath.Join(s.dir, "ready"))
		return err
	})
}

// signal sends a signal to the sandbox and its whole process group.
func (s *sandbox) signal(sig syscall.Signal) { _ = syscall.Kill(-s.cmd.Process.Pid, sig) }

// awaitEnd waits until the sandbox has ended, for as long as it promises, and
// returns its exit code.
func (s *sandbox) awaitEnd() int {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(stopDeadline):
		s.t.Fatalf("the sandbox has not ended within %s:\n%s", stopDeadline, s.stderr)
	}
	return s.cmd.ProcessState.ExitCode()
}

// run runs a command of the sandbox and returns what it prints.
func (s *sandbox) run(args ...string) (stdout, stderr string, err error) {
	s.t.Helper()
	return run(s.t, binary(s.t, "sandbox"), append(args, "--dir", s.dir)...)
}

// mustRun runs a command of the sandbox that has to succeed.
func (s *sandbox) mustRun(args ...string) (stdout, stderr string) {
	s.t.Helper()
	stdout, stderr, err := s.run(args...)
	if err != nil {
		s.t.Fatalf("sandbox %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return stdout, stderr
}

// status is what the sandbox says of its programs, by name.
func (s *sandbox) status() map[string]process.Status {
	s.t.Helper()
	stdout, _ := s.mustRun("status", "-o", "json")
	var all []process.Status
	if err := json.Unmarshal([]byte(stdout), &all); err != nil {
		s.t.Fatalf("decoding the status: %v\n%s", err, stdout)
	}
	byName := map[string]process.Status{}
	for _, one := range all {
		byName[one.Name] = one
	}
	return byName
}

// kubectl runs kubectl as administrator.
func (s *sandbox) kubectl(args ...string) (string, error) {
	s.t.Helper()
	stdout, stderr, err := run(s.t, binary(s.t, "kubectl"), append(args, "--kubeconfig", filepath.Join(s.dir, "kubeconfig"))...)
	if err != nil {
		err = errors.Join(err, errors.New(stderr))
	}
	return strings.TrimSpace(stdout), err
}

// mustKubectl runs kubectl, which has to succeed.
func (s *sandbox) mustKubectl(args ...string) string {
	s.t.Helper()
	out, err := s.kubectl(args...)
	if err != nil {
		s.t.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// run runs a program and returns what it prints.
func run(t *testing.T, path string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	return out.String(), errOut.String(), err
}

// exitCode is the exit code that an error of run tells of.
func exitCode(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return 0
}

// eventually polls until the check returns nil.
func eventually(t *testing.T, within time.Duration, what string, check func() error) {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.Now().Add(within)
	for {
		err := check()
		if err == nil {
			return
		}
		if now := <-ticker.C; now.After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, within, err)
		}
	}
}

// alive reports whether the process runs. One that is dead and only waited for
// does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	data, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, rest, ok := bytes.Cut(data, []byte(") "))
	return !ok || !bytes.HasPrefix(rest, []byte("Z"))
}
