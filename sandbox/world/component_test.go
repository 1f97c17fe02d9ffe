package world

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"labhub.io/teamspace/sandbox/control"
	"labhub.io/teamspace/sandbox/process"
)

// states are the states of all programs, in order.
func (r *running) states() string {
	r.t.Helper()
	all, err := r.client().Status(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	var states []string
	for _, s := range all {
		states = append(states, s.Name+"="+string(s.State))
	}
	return strings.Join(states, " ")
}

// do carries out a command and returns the note.
func (r *running) do(action control.Action, component string, kill bool) string {
	r.t.Helper()
	note, err := r.client().Do(r.t.Context(), control.Command{Action: action, Component: component, Kill: kill})
	if err != nil {
		r.t.Fatalf("%s %s: %v", action, component, err)
	}
	return note
}

func TestWorld_Commands(t *testing.T) {
	s := newStage(t)
	r := s.run(Config{Components: []Component{
		made("single", s.program("single", obedient)),
		made("pair", s.program("pair-a", obedient), s.program("pair-b", stubborn)),
	}})
	r.awaitReady()
	for _, tc := range []struct {
		action     control.Action
		component  string
		kill       bool
		wantNote   string
		wantStates string
	}{
		{control.Start, "single", false, "single was running already", "single=running pair-a=running pair-b=running"},
		{control.Stop, "single", false, "single is stopped", "single=stopped pair-a=running pair-b=running"},
		{control.Stop, "single", false, "single was stopped already", "single=stopped pair-a=running pair-b=running"},
		{control.Stop, "pair", true, "pair is stopped", "single=stopped pair-a=stopped pair-b=stopped"},
		{control.Start, "pair", false, "pair serves", "single=stopped pair-a=running pair-b=running"},
		{control.Restart, "single", false, "single serves again", "single=running pair-a=running pair-b=running"},
		{control.Restart, "pair", true, "pair serves again", "single=running pair-a=running pair-b=running"},
	} {
		if note := r.do(tc.action, tc.component, tc.kill); note != tc.wantNote {
			t.Errorf("%s %s says %q, want %q", tc.action, tc.component, note, tc.wantNote)
		}
		if diff := cmp.Diff(tc.wantStates, r.states()); diff != "" {
			t.Errorf("states after %s %s (-want +got):\n%s", tc.action, tc.component, diff)
		}
	}
	r.end()
	close(r.hurry)
	if err := r.awaitEnd(); err != nil {
		t.Errorf("Run() = %v, want nil", err)
	}
}

func TestWorld_CommandErrors(t *testing.T) {
	s := newStage(t)
	flaky := s.program("flaky", obedient+" # "+s.notes)
	r := s.run(Config{Components: []Component{made("flaky", flaky)}})
	r.awaitReady()
	for _, tc := range []struct {
		command control.Command
		want    string
	}{
		{control.Command{Action: control.Stop, Component: "absent"}, "there are: flaky"},
		{control.Command{Action: "explode", Component: "flaky"}, "explode"},
	} {
		if _, err := r.client().Do(t.Context(), tc.command); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Do(%+v) = %v, want an error with %q", tc.command, err, tc.want)
		}
	}
	r.end()
	if err := r.awaitEnd(); err != nil {
		t.Errorf("Run() = %v, want nil", err)
	}
}

func TestWhere(t *testing.T) {
	one := process.Definition{Addresses: map[string]string{"https": "127.0.0.1:1"}}
	two := process.Definition{Addresses: map[string]string{"a": "127.0.0.1:1", "b": "127.0.0.1:2"}}
	for _, tc := range []struct {
		definitions []process.Definition
		want        string
	}{
		{nil, ""},
		{[]process.Definition{one}, " on 127.0.0.1:1"},
		{[]process.Definition{two}, ""},
		{[]process.Definition{one, one}, ""},
	} {
		if got := where(tc.definitions); got != tc.want {
			t.Errorf("where(%v) = %q, want %q", tc.definitions, got, tc.want)
		}
	}
}

func TestNarrator_OneLinePerCall(t *testing.T) {
	var out strings.Builder
	n := NewNarrator(&out)
	n.Say("one %d", 1)
	n.Say("two\n")
	if diff := cmp.Diff("sandbox: one 1\nsandbox: two\n", out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}
