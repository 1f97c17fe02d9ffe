package process

import (
	"context"
	"sync"
)

// Service keeps one program running or stopped, as asked. All its methods may
// be called at the same time from several goroutines.
type Service struct {
	definition Definition
	spawner    *Spawner
	observer   Observer

	mu sync.Mutex
	// period is the present period of wanting the program to run, nil while it
	// is not wanted.
	period *period
	// closed forbids a further period.
	closed bool
}

// NewService returns a stopped service.
func NewService(d Definition, spawner *Spawner, observer Observer) *Service {
	return &Service{definition: d, spawner: spawner, observer: observer}
}

// Name is the name of the program.
func (s *Service) Name() string { return s.definition.Name }

// Start starts the program unless it runs, and returns when it serves. It
// reports whether it did not serve before. When it fails because the
// context or the StartTimeout ended, the program is left to itself; when the
// program died before it served, it is not started again unless it has a
// Backoff.
func (s *Service) Start(ctx context.Context) (started bool, err error) {
	p, started, err := s.begin()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.definition.StartTimeout)
	defer cancel()
	return started, p.awaitReady(ctx)
}

// begin returns the present period, or a new one.
func (s *Service) begin() (p *period, started bool, err error) {
	for {
		s.mu.Lock()
		p := s.period
		if p == nil && s.closed {
			s.mu.Unlock()
			return nil, false, &StartError{Name: s.definition.Name, Err: errClosed}
		}
		if p == nil {
			p, err := newPeriod(s)
			if err == nil {
				s.period = p
				go p.run()
			}
			s.mu.Unlock()
			return p, true, err
		}
		s.mu.Unlock()
		if !p.ending() {
			return p, !p.serves(), nil
		}
		<-p.over
	}
}

// Stop ends the program and returns when it is gone; with kill, by SIGKILL at
// once. It reports whether there was something to stop. A Stop with kill also
// hastens one that is under way.
func (s *Service) Stop(kill bool) (stopped bool) {
	s.mu.Lock()
	p := s.period
	s.mu.Unlock()
	if p == nil {
		return false
	}
	p.end(kill)
	<-p.over
	return true
}

// Close is a last Stop: no Start succeeds after it.
func (s *Service) Close(kill bool) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.Stop(kill)
}

// ended forgets p, which is over.
func (s *Service) ended(p *period) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.period == p {
		s.period = nil
	}
}

// Status tells what the service is doing.
func (s *Service) Status() Status {
	s.mu.Lock()
	p := s.period
	s.mu.Unlock()
	status := Status{Name: s.definition.Name, State: Stopped, Addresses: s.definition.Addresses, Log: s.definition.Log}
	if p != nil {
		p.describe(&status)
	}
	return status
}
