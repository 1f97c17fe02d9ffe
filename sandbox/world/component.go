package world

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"labhub.io/teamspace/sandbox/control"
	"labhub.io/teamspace/sandbox/process"
)

// each calls act for all programs of the component at once.
func (c *component) each(act func(*process.Service)) {
	var all sync.WaitGroup
	for _, s := range c.services {
		all.Go(func() { act(s) })
	}
	all.Wait()
}

// start starts what does not run, and returns when all of it serves. It reports
// whether something did not serve before.
func (c *component) start(ctx context.Context) (bool, error) {
	var some atomic.Bool
	var mu sync.Mutex
	var failed []error
	c.each(func(s *process.Service) {
		started, err := s.Start(ctx)
		if started {
			some.Store(true)
		}
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, err)
		}
	})
	return some.Load(), errors.Join(failed...)
}

// stop stops what runs, and returns when it is gone. It reports whether there
// was something to stop.
func (c *component) stop(kill bool) bool {
	var some atomic.Bool
	c.each(func(s *process.Service) {
		if s.Stop(kill) {
			some.Store(true)
		}
	})
	return some.Load()
}

// Status tells what every program is doing.
func (w *World) Status() []process.Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []process.Status
	for _, c := range w.components {
		for _, s := range c.services {
			all = append(all, s.Status())
		}
	}
	return all
}

// Do carries out a command of somebody at the control endpoint and returns what
// there is to say about it.
func (w *World) Do(ctx context.Context, command control.Command) (string, error) {
	c, err := w.find(command.Component)
	if err != nil {
		return "", err
	}
	switch command.Action {
	case control.Stop:
		w.config.Narrator.Say("stopping %s, as asked", c.name)
		if !c.stop(command.Kill) {
			return c.name + " was stopped already", nil
		}
		return c.name + " is stopped", nil
	case control.Start:
		w.config.Narrator.Say("starting %s, as asked", c.name)
		started, err := c.start(ctx)
		if err == nil && !started {
			return c.name + " was running already", nil
		}
		return c.name + " serves", err
	case control.Restart:
		w.config.Narrator.Say("restarting %s, as asked", c.name)
		c.stop(command.Kill)
		_, err := c.start(ctx)
		return c.name + " serves again", err
	}
	return "", fmt.Errorf("there is no action %q", command.Action)
}

// find returns the component of that name.
func (w *World) find(name string) (*component, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for _, c := range w.components {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	return nil, &control.UnknownComponentError{Name: name, Known: names}
}
