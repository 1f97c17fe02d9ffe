package world

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	shippedModule = "labhub.io/teamspace"

	// startTimeout is what the sandbox promises, and as much again for a machine
	// that does something else besides.
	startTimeout = 120 * time.Second

	// stopTimeout is longer than the ten seconds that the sandbox promises.
	stopTimeout = 15 * time.Second

	pollInterval = 20 * time.Millisecond
)

// process is a program in a process group of its own.
type process struct {
	cmd    *exec.Cmd
	output *buffer
	done   chan struct{} // closed when the program has ended
}

// buffer may be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String is what has been written so far.
func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// run starts a program. It gets a term signal when the tests die without stopping it,
// as they do at a timeout or an interrupt, where the system can do that.
func run(path string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(path, args...), output: &buffer{}, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.SysProcAttr = attributes()
	started := make(chan error)
	go func() {
		// The signal is sent at the end of the thread that started the program, so that
		// this one must not be given up before.
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // ProcessState says how it ended
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	return p, nil
}

// awaitFile waits until the program has made a file.
func (p *process) awaitFile(path string, within time.Duration) error {
	deadline := time.After(within)
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended (%s) before it was ready, and said:\n%s", p.cmd.Path, p.cmd.ProcessState, p.output)
		case <-deadline:
			return fmt.Errorf("%s is not ready after %s, and said:\n%s", p.cmd.Path, within, p.output)
		case <-tick.C:
		}
	}
}

// stop asks the whole group to end. Whatever is left of it after a while is killed,
// and that is an error, as is a program that had ended before.
func (p *process) stop(within time.Duration) error {
	select {
	case <-p.done:
		return fmt.Errorf("%s had ended by itself (%s), and said:\n%s", p.cmd.Path, p.cmd.ProcessState, p.output)
	default:
	}
	group := -p.cmd.Process.Pid
	if err := syscall.Kill(group, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping %s: %w", p.cmd.Path, err)
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(within):
	}
	err := fmt.Errorf("%s has not ended within %s, and said:\n%s", p.cmd.Path, within, p.output)
	err = errors.Join(err, syscall.Kill(group, syscall.SIGKILL))
	<-p.done
	return err
}

func isRoot(goMod string) bool {
	text, err := os.ReadFile(goMod)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) == "module "+shippedModule {
			return true
		}
	}
	return false
}
