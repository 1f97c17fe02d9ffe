package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// run is one running program.
type run struct {
	cmd     *exec.Cmd
	started time.Time
	// logged is the size of the log at the start: what is before is not ours.
	logged int64
	done   chan struct{}
}

// startRun starts the program of d with both outputs appended to its log. The
// child holds the log itself, so that nothing in this process can block it.
func startRun(s *Spawner, d Definition) (*run, error) {
	log, err := os.OpenFile(d.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", d.Name, err)
	}
	defer log.Close()
	logged, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("looking at the end of the log of %s: %w", d.Name, err)
	}
	cmd := exec.Command(d.Path, d.Args...)
	cmd.Env = d.Env
	cmd.Stdout, cmd.Stderr = log, log
	started := time.Now()
	if err := s.start(cmd); err != nil {
		return nil, fmt.Errorf("starting %s: %w", d.Name, err)
	}
	r := &run{cmd: cmd, started: started, logged: logged, done: make(chan struct{})}
	go func() {
		// The error only repeats what ProcessState says.
		_ = cmd.Wait()
		close(r.done)
	}()
	return r, nil
}

// pid is the process id.
func (r *run) pid() int { return r.cmd.Process.Pid }

// outcome says how the process ended; it is valid once done is closed.
func (r *run) outcome() string { return r.cmd.ProcessState.String() }

// signal reaches the program and whatever it has started in its group. That
// the group is gone already is no error.
func (r *run) signal(sig syscall.Signal) {
	_ = syscall.Kill(-r.pid(), sig)
}

// stop asks the program to end and returns when it has. After the grace, or
// when kill is closed, it is killed: a program that cannot reach what it
// depends on may otherwise wait in its shutdown for very long.
func (r *run) stop(grace time.Duration, kill <-chan struct{}) {
	select {
	case <-kill:
	default:
		r.signal(syscall.SIGTERM)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-r.done:
			return
		case <-timer.C:
		case <-kill:
		}
	}
	r.signal(syscall.SIGKILL)
	<-r.done
}
