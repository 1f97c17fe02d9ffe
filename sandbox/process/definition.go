package process

import (
	"context"
	"time"
)

// Definition says how one program is run.
type Definition struct {
	// Name is what people call it.
	Name string
	// Path is the executable, Args its arguments, Env its whole environment
	// (nil: that of this process).
	Path string
	Args []string
	Env  []string
	// Log is the file that both outputs are appended to.
	Log string
	// Addresses are those that it listens on, by what they are for. They are
	// checked to be free before each start, so that a port in use is reported
	// as that and not as a death.
	Addresses map[string]string
	// Grace is the time between SIGTERM and SIGKILL.
	Grace time.Duration
	// StartTimeout limits the wait for the first successful probe.
	StartTimeout time.Duration
	// Ready probes once whether the process that was started at that time
	// serves. It has to respect its context.
	Ready func(ctx context.Context, started time.Time) error
	// Backoff, if set, has the program started again when it ends by itself.
	// Without it the end is reported and that is all.
	Backoff *Backoff
}

// Backoff is the pause before a program is started again: First after the first
// end, twice as long after each further one, but never longer than Longest. A
// run of at least Steady begins the count anew.
type Backoff struct {
	First, Longest, Steady time.Duration
}

// pause is the pause after the given number of ends in a row, counted from 1.
func (b Backoff) pause(ends int) time.Duration {
	pause := b.First
	for range ends - 1 {
		pause *= 2
		if pause >= b.Longest {
			break
		}
	}
	return min(pause, b.Longest)
}

// State is what a Service is doing.
type State string

// The states of a Service.
const (
	Stopped    State = "stopped"
	Starting   State = "starting"
	Running    State = "running"
	Stopping   State = "stopping"
	Restarting State = "restarting"
)

// Status is a Service at one moment.
type Status struct {
	Name      string            `json:"name"`
	State     State             `json:"state"`
	PID       int               `json:"pid,omitempty"`
	Addresses map[string]string `json:"addresses,omitempty"`
	// Restarts counts the ends that nobody asked for.
	Restarts int    `json:"restarts,omitempty"`
	Log      string `json:"log"`
}

// Observer is told what a Service does unasked. Its methods must not block.
type Observer interface {
	// Died is called when a program ended that was serving and that has no
	// Backoff.
	Died(err *DeathError)
	// Restarting is called when a program ended that is started again after
	// the pause.
	Restarting(err *DeathError, pause time.Duration)
}
