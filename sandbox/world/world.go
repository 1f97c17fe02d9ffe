// Package world runs a sandbox in the foreground: its components one after the
// other, then the control endpoint, until it is told to end or a component dies.
package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"labhub.io/teamspace/sandbox/control"
	"labhub.io/teamspace/sandbox/directory"
	"labhub.io/teamspace/sandbox/port"
	"labhub.io/teamspace/sandbox/process"
)

const (
	// stopBudget is when whatever has not ended is killed. The sandbox promises
	// to be gone within ten seconds.
	stopBudget = 8500 * time.Millisecond
	// servingTimeout limits the wait for the whole after its parts serve.
	servingTimeout = 60 * time.Second
	// servingInterval is the pause between two looks at the whole.
	servingInterval = 50 * time.Millisecond
)

// Component is a part of the sandbox that can be stopped and started.
type Component struct {
	// Name is what people call it.
	Name string
	// Before, if set, runs when the components before it serve.
	Before func(context.Context) error
	// Define returns the programs that make it up, after Before.
	Define func(context.Context) ([]process.Definition, error)
}

// Config is everything that a world is made of.
type Config struct {
	Directory  *directory.Directory
	Narrator   Narrator
	Components []Component
	// Serving probes once whether the whole serves, when all components do.
	Serving func(context.Context) error
	// Finish, if set, runs when the whole serves, before it is marked ready.
	Finish func(context.Context) error
	// Address is where commands are taken; nothing means loopback.
	Address string
	// Hurry is closed when a person does not want to wait for a clean stop.
	Hurry <-chan struct{}
}

// World is a running sandbox.
type World struct {
	config  Config
	spawner *process.Spawner
	// abort ends the world with a cause.
	abort context.CancelCauseFunc

	mu         sync.Mutex
	components []*component
}

// component is a Component whose programs are defined.
type component struct {
	name     string
	services []*process.Service
}

// errEnded is the cause of an end that was asked for.
var errEnded = errors.New("the sandbox was asked to end")

// Run starts the world and returns when all of it has ended: with nil after ctx
// is done, with the reason otherwise.
func Run(ctx context.Context, config Config) error {
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	w := &World{config: config, spawner: process.NewSpawner(), abort: abort}
	defer w.spawner.Close()

	began := time.Now()
	err := w.start(ctx)
	if err == nil {
		err = w.serve(ctx, began)
	}
	if err != nil && !errors.Is(err, errEnded) {
		config.Narrator.Say("ending, because something failed")
	}
	ending := time.Now()
	if clearErr := config.Directory.ClearReady(); err == nil {
		err = clearErr
	}
	w.stop()
	config.Narrator.Say("everything has ended (%s)", seconds(time.Since(ending)))
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// start brings the components up, one after the other.
func (w *World) start(ctx context.Context) error {
	for _, definition := range w.config.Components {
		if err := w.startComponent(ctx, definition); err != nil {
			return cause(ctx, err)
		}
	}
	return cause(ctx, w.awaitServing(ctx))
}

// startComponent brings one component up.
func (w *World) startComponent(ctx context.Context, c Component) error {
	if c.Before != nil {
		if err := c.Before(ctx); err != nil {
			return err
		}
	}
	began := time.Now()
	definitions, err := c.Define(ctx)
	if err != nil {
		return fmt.Errorf("defining %s: %w", c.Name, err)
	}
	part := &component{name: c.Name}
	for _, d := range definitions {
		part.services = append(part.services, process.NewService(d, w.spawner, w))
	}
	w.mu.Lock()
	w.components = append(w.components, part)
	w.mu.Unlock()
	if _, err := part.start(ctx); err != nil {
		return err
	}
	w.config.Narrator.Say("%s serves%s (%s)", c.Name, where(definitions), seconds(time.Since(began)))
	return nil
}

// awaitServing waits until the whole serves.
func (w *World) awaitServing(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, servingTimeout)
	defer cancel()
	ticker := time.NewTicker(servingInterval)
	defer ticker.Stop()
	var last error
	for {
		err := w.config.Serving(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err // the end of the time says nothing of what is missing
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("all components serve, but not the whole: %w", cmp.Or(last, err))
		}
	}
}

// serve marks the world ready and answers commands until it has to end.
func (w *World) serve(ctx context.Context, began time.Time) error {
	if w.config.Finish != nil {
		if err := w.config.Finish(ctx); err != nil {
			return cause(ctx, err)
		}
	}
	endpoint, err := control.ServeAt(cmp.Or(w.config.Address, port.Loopback), w.config.Directory.Path(), w)
	if err != nil {
		return err
	}
	defer endpoint.Close()
	if err := w.config.Directory.MarkReady(); err != nil {
		return err
	}
	w.config.Narrator.Say("ready after %s, administrator's kubeconfig: %s", seconds(time.Since(began)), w.config.Directory.Kubeconfig())
	<-ctx.Done()
	return cause(ctx, ctx.Err())
}

// stop ends all components in reverse order. Those that have not ended when
// the budget is used up, or when somebody is in a hurry, are killed.
func (w *World) stop() {
	w.mu.Lock()
	components := slices.Clone(w.components)
	w.mu.Unlock()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for _, c := range slices.Backward(components) {
			c.each(func(s *process.Service) { s.Close(false) })
		}
	}()
	timer := time.NewTimer(stopBudget)
	defer timer.Stop()
	select {
	case <-stopped:
		return
	case <-timer.C:
	case <-w.config.Hurry:
	}
	for _, c := range components {
		c.each(func(s *process.Service) { s.Close(true) })
	}
	<-stopped
}

// Died ends the world: nothing that is left of it can be relied on.
func (w *World) Died(err *process.DeathError) { w.abort(err) }

// Restarting tells of a program that comes back by itself.
func (w *World) Restarting(err *process.DeathError, pause time.Duration) {
	w.config.Narrator.Say("%v\n%s is started again in %s", err, err.Name, pause)
}

// cause replaces err by what ended ctx, if something did.
func cause(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if death, ok := errors.AsType[*process.DeathError](context.Cause(ctx)); ok {
		return death
	}
	return errEnded
}

// where lists the addresses of a component that listens on one only; of others
// the status command tells.
func where(definitions []process.Definition) string {
	if len(definitions) != 1 || len(definitions[0].Addresses) != 1 {
		return ""
	}
	for _, address := range definitions[0].Addresses {
		return " on " + address
	}
	return ""
}
