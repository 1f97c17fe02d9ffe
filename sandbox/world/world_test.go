package world

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"labhub.io/teamspace/sandbox/control"
	"labhub.io/teamspace/sandbox/directory"
	"labhub.io/teamspace/sandbox/process"
)

// The programs of the tests: each notes in $NOTES what happens to it.
const (
	// obedient ends when it is asked to.
	obedient = `echo "$NAME starts" >>"$NOTES"; trap 'echo "$NAME stops" >>"$NOTES"; exit 0' TERM; echo up; while :; do sleep 0.02; done`
	// stubborn does not.
	stubborn = `trap '' TERM; echo up; while :; do sleep 0.02; done`
	// failing ends by itself before it serves.
	failing = `echo cannot go on; exit 3`
)

// stage is a directory with components that note what happens to them.
type stage struct {
	t     *testing.T
	dir   *directory.Directory
	notes string
	said  *said
}

// said is what the narrator said.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write takes a line.
func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// String is everything so far.
func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// newStage returns a stage that is cleared when the test ends.
func newStage(t *testing.T) *stage {
	t.Helper()
	dir, err := directory.Acquire(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dir.Release)
	return &stage{t: t, dir: dir, notes: filepath.Join(t.TempDir(), "notes"), said: &said{}}
}

// program defines a program of that name, which serves once it has written to
// its log.
func (s *stage) program(name, script string) process.Definition {
	log := s.dir.Path(name + ".log")
	return process.Definition{
		Name: name, Path: "/bin/sh", Args: []string{"-c", script},
		Env:   append(os.Environ(), "NAME="+name, "NOTES="+s.notes),
		Log:   log,
		Grace: time.Hour, StartTimeout: 30 * time.Second,
		Ready: func(context.Context, time.Time) error {
			data, err := os.ReadFile(log)
			if err == nil && !strings.HasSuffix(string(data), "up\n") {
				err = errors.New("not up yet")
			}
			return err
		},
	}
}

// made is a component of programs.
func made(name string, programs ...process.Definition) Component {
	return Component{Name: name, Define: func(context.Context) ([]process.Definition, error) { return programs, nil }}
}

// note returns a function that notes that it was called.
func (s *stage) note(text string, err error) func(context.Context) error {
	return func(context.Context) error {
		f, openErr := os.OpenFile(s.notes, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if openErr != nil {
			return openErr
		}
		_, writeErr := fmt.Fprintln(f, text)
		return errors.Join(err, writeErr, f.Close())
	}
}

// noted is what was noted, line by line.
func (s *stage) noted() []string {
	s.t.Helper()
	data, err := os.ReadFile(s.notes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return strings.Fields(strings.ReplaceAll(strings.TrimSpace(string(data)), " ", "_"))
}

// running is a world that runs in the background.
type running struct {
	*stage
	end    context.CancelFunc
	hurry  chan struct{}
	result chan error
}

// run runs a world of the components. What the config leaves open is filled in.
func (s *stage) run(config Config) *running {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	r := &running{stage: s, end: cancel, hurry: make(chan struct{}), result: make(chan error, 1)}
	config.Directory, config.Narrator, config.Hurry = s.dir, NewNarrator(s.said), r.hurry
	if config.Serving == nil {
		config.Serving = func(context.Context) error { return nil }
	}
	go func() { r.result <- Run(ctx, config) }()
	return r
}

// awaitReady waits for the mark.
func (r *running) awaitReady() {
	r.t.Helper()
	r.await("the world is ready", func() bool { return r.ready() })
}

// ready reports whether the mark is there.
func (r *running) ready() bool {
	_, err := os.Stat(r.dir.Path("ready"))
	return err == nil
}

// await polls until the condition holds.
func (r *running) await(what string, condition func() bool) {
	r.t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.Now().Add(30 * time.Second)
	for !condition() {
		select {
		case err := <-r.result:
			r.t.Fatalf("%s: the world has ended: %v\n%s", what, err, r.said)
		case now := <-ticker.C:
			if now.After(deadline) {
				r.t.Fatalf("%s: not within 30s\n%s", what, r.said)
			}
		}
	}
}

// awaitEnd returns what Run returned.
func (r *running) awaitEnd() error {
	r.t.Helper()
	select {
	case err := <-r.result:
		return err
	case <-time.After(30 * time.Second):
		r.t.Fatalf("the world has not ended within 30s\n%s", r.said)
		return nil
	}
}

// client is a client of the world's control endpoint.
func (r *running) client() *control.Client {
	r.t.Helper()
	c, err := control.Connect(r.dir.Path())
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func TestRun_StartsInOrderAndStopsInReverse(t *testing.T) {
	s := newStage(t)
	second := made("second", s.program("second", obedient))
	second.Before = s.note("before second", nil)
	r := s.run(Config{
		Components: []Component{made("first", s.program("first", obedient)), second},
		Finish:     s.note("finish", nil),
	})
	r.awaitReady()
	r.end()
	if err := r.awaitEnd(); err != nil {
		t.Errorf("Run() = %v, want nil", err)
	}
	want := []string{"first_starts", "before_second", "second_starts", "finish", "second_stops", "first_stops"}
	if diff := cmp.Diff(want, s.noted()); diff != "" {
		t.Errorf("what happened (-want +got):\n%s", diff)
	}
	if r.ready() {
		t.Error("the world is marked ready after its end")
	}
	if _, err := control.Connect(s.dir.Path()); err == nil {
		t.Error("the control endpoint is published after the end")
	}
}

func TestRun_WaitsForTheWhole(t *testing.T) {
	s := newStage(t)
	open := make(chan struct{})
	r := s.run(Config{
		Components: []Component{made("only", s.program("only", obedient))},
		Serving: func(context.Context) error {
			select {
			case <-open:
				return nil
			default:
				return errors.New("not yet")
			}
		},
	})
	r.await("the component serves", func() bool { return strings.Contains(s.said.String(), "only serves") })
	if r.ready() {
		t.Error("the world is marked ready before the whole serves")
	}
	close(open)
	r.awaitReady()
	r.end()
	if err := r.awaitEnd(); err != nil {
		t.Errorf("Run() = %v, want nil", err)
	}
}

func TestRun_FailuresUndoWhatWasBegun(t *testing.T) {
	errBoom := errors.New("boom")
	for name, tc := range map[string]struct {
		change  func(*stage, *Component, *Config)
		isDeath bool
	}{
		"before a component": {change: func(s *stage, c *Component, _ *Config) { c.Before = s.note("before", errBoom) }},
		"its definition": {change: func(_ *stage, c *Component, _ *Config) {
			c.Define = func(context.Context) ([]process.Definition, error) { return nil, errBoom }
		}},
		"its start": {isDeath: true, change: func(s *stage, c *Component, _ *Config) {
			*c = made("second", s.program("second", failing))
		}},
		"the finish": {change: func(s *stage, _ *Component, config *Config) { config.Finish = s.note("finish", errBoom) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			second := made("second", s.program("second", obedient))
			var config Config
			tc.change(s, &second, &config)
			config.Components = []Component{made("first", s.program("first", obedient)), second}
			r := s.run(config)
			err := r.awaitEnd()
			if death, ok := errors.AsType[*process.DeathError](err); ok != tc.isDeath || ok && death.Name != "second" {
				t.Errorf("Run() = %v, want a death of second: %t", err, tc.isDeath)
			}
			if !tc.isDeath && !errors.Is(err, errBoom) {
				t.Errorf("Run() = %v, want %v", err, errBoom)
			}
			noted := s.noted()
			if len(noted) == 0 || noted[len(noted)-1] != "first_stops" {
				t.Errorf("the first component was not stopped last: %v", noted)
			}
			if r.ready() {
				t.Error("the world is marked ready")
			}
		})
	}
}

func TestRun_DeathEndsTheWorld(t *testing.T) {
	s := newStage(t)
	r := s.run(Config{Components: []Component{
		made("first", s.program("first", obedient)),
		made("second", s.program("second", obedient)),
	}})
	r.awaitReady()
	all, err := r.client().Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(all[0].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	death, ok := errors.AsType[*process.DeathError](r.awaitEnd())
	if !ok || death.Name != "first" || death.Outcome != "signal: killed" || !strings.HasSuffix(death.Tail, "up") {
		t.Errorf("Run() = %v, want the death of first with the end of its log", death)
	}
	if noted := s.noted(); noted[len(noted)-1] != "second_stops" {
		t.Errorf("the other component was not stopped: %v", noted)
	}
	if r.ready() {
		t.Error("the world is marked ready after its end")
	}
}

func TestRun_EndWhileStarting(t *testing.T) {
	s := newStage(t)
	r := s.run(Config{Components: []Component{
		made("first", s.program("first", obedient)),
		made("second", s.program("second", "sleep 1000")),
	}})
	r.await("the first serves", func() bool { return strings.Contains(s.said.String(), "first serves") })
	r.end()
	close(r.hurry) // the second ends at no signal but the last
	if err := r.awaitEnd(); err != nil {
		t.Errorf("Run() = %v, want nil", err)
	}
}

func TestRun_HurryKills(t *testing.T) {
	s := newStage(t)
	r := s.run(Config{Components: []Component{made("only", s.program("only", stubborn))}})
	r.awaitReady()
	r.end()
	close(r.hurry)
	if err := r.awaitEnd(); err != nil {
		t.Errorf("Run() = %v, want nil", err)
	}
}

func TestRun_ProgramThatComesBackIsTold(t *testing.T) {
	s := newStage(t)
	d := s.program("only", obedient)
	d.Backoff = &process.Backoff{First: time.Millisecond, Longest: time.Millisecond, Steady: time.Hour}
	r := s.run(Config{Components: []Component{made("only", d)}})
	r.awaitReady()
	all, err := r.client().Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(all[0].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.await("it is told", func() bool { return strings.Contains(s.said.String(), "only is started again in 1ms") })
	r.end()
	if err := r.awaitEnd(); err != nil {
		t.Errorf("Run() = %v, want nil", err)
	}
}
