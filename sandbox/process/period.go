package process

import (
	"context"
	"sync"
	"time"

	"labhub.io/teamspace/sandbox/port"
)

const (
	// probeInterval is the pause between two probes of a program that does not
	// serve yet, probeTimeout the longest that one probe may take.
	probeInterval = 50 * time.Millisecond
	probeTimeout  = 2 * time.Second
	// hopeless is the number of ends before the first readiness after which
	// Start stops waiting for a program that has a Backoff.
	hopeless = 3
)

// period is the time from a Start to the Stop that ends it, or to the death of
// a program that is not started again.
type period struct {
	service *Service

	// stop and kill are closed to end the period, over when it has ended.
	stop, kill, over   chan struct{}
	stopOnce, killOnce sync.Once

	mu sync.Mutex
	// changed is closed, and replaced, with each change of what follows.
	changed chan struct{}
	state   State
	current *run
	ends    int
	// probe is the last failed probe, failure why readiness is not to be
	// expected.
	probe, failure error
}

// newPeriod starts the program for the first time.
func newPeriod(s *Service) (*period, error) {
	p := &period{
		service: s,
		stop:    make(chan struct{}), kill: make(chan struct{}), over: make(chan struct{}),
		changed: make(chan struct{}),
	}
	return p, p.launch()
}

// launch starts the program, provided that its addresses are free.
func (p *period) launch() error {
	d := p.service.definition
	for _, address := range d.Addresses {
		if err := port.CheckFree(address); err != nil {
			return &StartError{Name: d.Name, Err: err}
		}
	}
	r, err := startRun(p.service.spawner, d)
	if err != nil {
		return err
	}
	p.change(func() { p.current, p.state = r, Starting })
	return nil
}

// run sees to the program until it is gone for good.
func (p *period) run() {
	defer close(p.over)
	defer p.service.ended(p)
	for inARow := 0; ; {
		began := time.Now()
		served, died := p.watch()
		if !died {
			return
		}
		death := newDeathError(p.service.definition, p.current)
		backoff := p.service.definition.Backoff
		if backoff == nil {
			p.change(func() { p.state, p.failure = Stopped, death })
			if served {
				p.service.observer.Died(death)
			}
			return
		}
		if inARow++; served && time.Since(began) >= backoff.Steady {
			inARow = 1
		}
		if !p.again(death, inARow) {
			return
		}
	}
}

// watch follows the present run: until it serves, and then until it ends, by
// itself or because that was asked for.
func (p *period) watch() (served, died bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ready := make(chan struct{})
	go p.poll(ctx, p.current.started, ready)
	for {
		select {
		case <-ready:
			ready, served = nil, true
			p.change(func() { p.state, p.failure = Running, nil })
		case <-p.stop:
			p.change(func() { p.state = Stopping })
			cancel()
			p.current.stop(p.service.definition.Grace, p.kill)
			return served, false
		case <-p.current.done:
			return served, true
		}
	}
}

// poll probes until the program serves, and then closes ready.
func (p *period) poll(ctx context.Context, started time.Time, ready chan<- struct{}) {
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		probe, cancel := context.WithTimeout(ctx, probeTimeout)
		err := p.service.definition.Ready(probe, started)
		cancel()
		if err == nil {
			close(ready)
			return
		}
		p.mu.Lock()
		p.probe = err
		p.mu.Unlock()
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// again starts the program once more after a pause, and reports whether that is
// still wanted. A start that fails counts as one more end.
func (p *period) again(death *DeathError, inARow int) bool {
	d := p.service.definition
	for ; ; inARow++ {
		p.change(func() {
			p.state = Restarting
			p.ends++
			if inARow >= hopeless {
				p.failure = death
			}
		})
		pause := d.Backoff.pause(inARow)
		p.service.observer.Restarting(death, pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-p.stop:
			timer.Stop()
			return false
		}
		err := p.launch()
		if err == nil {
			return true
		}
		death = &DeathError{Name: d.Name, Outcome: err.Error(), Log: d.Log, Tail: Tail(d.Log)}
	}
}

// end asks for the end of the period.
func (p *period) end(kill bool) {
	if kill {
		p.killOnce.Do(func() { close(p.kill) })
	}
	p.stopOnce.Do(func() { close(p.stop) })
}

// change makes a change and wakes those who wait for one.
func (p *period) change(apply func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	apply()
	close(p.changed)
	p.changed = make(chan struct{})
}

// awaitReady returns nil once the program serves.
func (p *period) awaitReady(ctx context.Context) error {
	d := p.service.definition
	for {
		p.mu.Lock()
		state, failure, changed := p.state, p.failure, p.changed
		p.mu.Unlock()
		switch {
		case state == Running:
			return nil
		case failure != nil:
			return failure
		}
		select {
		case <-changed:
		case <-p.stop:
			return &StartError{Name: d.Name, Err: errStopped}
		case <-ctx.Done():
			p.mu.Lock()
			defer p.mu.Unlock()
			return notServing(d, context.Cause(ctx), p.probe)
		}
	}
}

// ending reports whether the program is gone for good, or is to go: this period
// will not serve again, and over is about to be closed.
func (p *period) ending() bool {
	select {
	case <-p.stop:
		return true
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state == Stopped
}

// serves reports whether the program serves now.
func (p *period) serves() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state == Running
}

// describe fills in what only the period knows.
func (p *period) describe(status *Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	status.State, status.Restarts = p.state, p.ends
	if p.state != Restarting && p.state != Stopped {
		status.PID = p.current.pid()
	}
}
