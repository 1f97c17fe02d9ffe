// Package program runs a program of bin/ for tests and proofs: as a process group that
// ends with them, whatever becomes of them.
package program

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

const pollInterval = 20 * time.Millisecond

// Program is a program in a process group of its own.
type Program struct {
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

// Run starts a program. It gets a term signal when this process dies without stopping
// it, as tests do at a timeout or an interrupt, where the system can do that.
func Run(path string, args ...string) (*Program, error) {
	p := &Program{cmd: exec.Command(path, args...), output: &buffer{}, done: make(chan struct{})}
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

// Output is what the program has written so far, to both of its streams.
func (p *Program) Output() string { return p.output.String() }

// PID is the process of the program.
func (p *Program) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal to the program alone.
func (p *Program) Signal(signal syscall.Signal) error { return p.cmd.Process.Signal(signal) }

// Ended is closed when the program has ended.
func (p *Program) Ended() <-chan struct{} { return p.done }

// AwaitFile waits until the program has made a file.
func (p *Program) AwaitFile(ctx context.Context, path string, within time.Duration) error {
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
			return fmt.Errorf("%s ended (%s) before it was ready, and said:\n%s", p.cmd.Path, p.cmd.ProcessState, p.output)
		case <-ctx.Done():
			return fmt.Errorf("waiting %s for %s to be ready: %w; it said:\n%s", within, p.cmd.Path, ctx.Err(), p.output)
		case <-tick.C:
		}
	}
}

// Stop asks the whole group to end. Whatever is left of it after a while is killed, and
// that is an error, as is a program that had ended before.
func (p *Program) Stop(within time.Duration) error {
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

// Kill ends the whole group at once, and returns when the program is gone. It may have
// ended before.
func (p *Program) Kill() {
	select {
	case <-p.done:
		return // its number may be somebody else's by now
	default:
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // it may have ended since
	<-p.done
}
