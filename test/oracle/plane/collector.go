package plane

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"syscall"
)

const collector = "kube-controller-manager"

// StopCollector stops kube-controller-manager.
func (p *Plane) StopCollector(ctx context.Context) error {
	_, err := p.ask(ctx, "stop", collector)
	return err
}

// StartCollector starts kube-controller-manager and returns when it serves. The
// collector may not have read everything by then.
func (p *Plane) StartCollector(ctx context.Context) error {
	_, err := p.ask(ctx, "start", collector)
	return err
}

// PauseCollector makes kube-controller-manager stand still: it notices nothing and
// does nothing, but keeps what it knows and its connections. This is for seconds, not
// for minutes.
func (p *Plane) PauseCollector(ctx context.Context) error {
	status, err := p.status(ctx)
	if err != nil {
		return err
	}
	if err := syscall.Kill(status.PID, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("pausing %s: %w", collector, err)
	}
	p.paused = status.PID
	return nil
}

// Resume has a paused kube-controller-manager go on. It is safe to call at any time.
func (p *Plane) Resume() error {
	if p.paused == 0 {
		return nil
	}
	pid := p.paused
	p.paused = 0
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		return fmt.Errorf("resuming %s: %w", collector, err)
	}
	return nil
}

// status is what the sandbox tells of a component.
type status struct {
	Name      string            `json:"name"`
	PID       int               `json:"pid"`
	Addresses map[string]string `json:"addresses"`
}

// status returns that of kube-controller-manager, which has to run.
func (p *Plane) status(ctx context.Context) (status, error) {
	out, err := p.ask(ctx, "status", "--output=json")
	if err != nil {
		return status{}, err
	}
	var all []status
	if err := json.Unmarshal(out, &all); err != nil {
		return status{}, fmt.Errorf("reading the status of the sandbox: %w", err)
	}
	for _, s := range all {
		if s.Name == collector && s.PID != 0 {
			return s, nil
		}
	}
	return status{}, fmt.Errorf("the sandbox runs no %s", collector)
}

func (p *Plane) ask(ctx context.Context, verb string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, p.sandbox, append([]string{verb, "--dir=" + p.dir}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("asking the sandbox for %s: %w\n%s%s", verb, err, out, p.process.Output())
	}
	return out, nil
}
