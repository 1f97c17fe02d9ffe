package plane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// process is a program in a process group of its own.
type process struct {
	cmd    *exec.Cmd
	output *output
	done   chan struct{} // closed when the program has ended
}

// output may be read while it is written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String is what has been written so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// run starts a program, which gets a term signal should this process die before it
// stops it, where the system can do that.
func run(path string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(path, args...), output: &output{}, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.SysProcAttr = attributes()
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the signal comes when the thread that started it ends
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // ProcessState tells how it ended
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	return p, nil
}

// awaitFile waits until the program has made a file.
func (p *process) awaitFile(ctx context.Context, path string, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended (%s) before it was ready:\n%s", p.cmd.Path, p.cmd.ProcessState, p.output)
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to be ready: %w:\n%s", p.cmd.Path, ctx.Err(), p.output)
		case <-tick.C:
		}
	}
}

// stop ends the program and all that it has started.
func (p *process) stop(within time.Duration) error {
	group := -p.cmd.Process.Pid
	select {
	case <-p.done:
		return fmt.Errorf("%s had ended by itself (%s):\n%s", p.cmd.Path, p.cmd.ProcessState, p.output)
	default:
	}
	if err := syscall.Kill(group, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping %s: %w", p.cmd.Path, err)
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(within):
	}
	err := errors.Join(fmt.Errorf("%s has not ended within %s", p.cmd.Path, within), syscall.Kill(group, syscall.SIGKILL))
	<-p.done
	return err
}
