package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"labhub.io/teamspace/sandbox/port"
)

// witness records what an Observer is told.
type witness struct {
	died       chan *DeathError
	restarting chan time.Duration
}

func newWitness() *witness {
	return &witness{died: make(chan *DeathError, 10), restarting: make(chan time.Duration, 10)}
}

func (w *witness) Died(err *DeathError) { w.died <- err }

func (w *witness) Restarting(_ *DeathError, pause time.Duration) { w.restarting <- pause }

// newTestService returns a service that is stopped when the test ends.
func newTestService(t *testing.T, d Definition) (*Service, *witness) {
	t.Helper()
	spawner, w := NewSpawner(), newWitness()
	s := NewService(d, spawner, w)
	t.Cleanup(func() {
		s.Close(true)
		spawner.Close()
	})
	return s, w
}

// mustStart starts the service.
func mustStart(t *testing.T, s *Service) {
	t.Helper()
	if started, err := s.Start(t.Context()); err != nil || !started {
		t.Fatalf("Start() = %t, %v, want true, nil", started, err)
	}
}

func TestService_StartAndStop(t *testing.T) {
	d := define(t, "serve")
	s, _ := newTestService(t, d)
	if got := s.Status().State; got != Stopped {
		t.Errorf("state before the start = %s", got)
	}
	for range 2 {
		mustStart(t, s)
		status := s.Status()
		if status.State != Running || !alive(status.PID) {
			t.Fatalf("after the start: %+v", status)
		}
		if started, err := s.Start(t.Context()); started || err != nil {
			t.Errorf("a second Start() = %t, %v, want false, nil", started, err)
		}
		if !s.Stop(false) {
			t.Error("Stop() = false, want true")
		}
		if alive(status.PID) {
			t.Error("the program is alive after Stop returned")
		}
		if s.Stop(false) {
			t.Error("a second Stop() = true, want false")
		}
	}
	if log := Tail(d.Log); strings.Count(log, "ending cleanly") != 2 {
		t.Errorf("want two clean ends in the log, got:\n%s", log)
	}
}

func TestService_StopKillsWhatDoesNotEnd(t *testing.T) {
	t.Run("after the grace", func(t *testing.T) {
		d := define(t, "stubborn")
		d.Grace = 50 * time.Millisecond
		s, _ := newTestService(t, d)
		mustStart(t, s)
		pid := s.Status().PID
		s.Stop(false)
		if alive(pid) {
			t.Error("the program is alive after Stop returned")
		}
	})
	t.Run("at once when told so", func(t *testing.T) {
		d := define(t, "stubborn")
		d.Grace = time.Hour
		s, _ := newTestService(t, d)
		mustStart(t, s)
		pid := s.Status().PID
		s.Stop(true)
		if alive(pid) {
			t.Error("the program is alive after Stop returned")
		}
	})
	t.Run("at once when told so while a stop waits", func(t *testing.T) {
		d := define(t, "stubborn")
		d.Grace = time.Hour
		s, _ := newTestService(t, d)
		mustStart(t, s)
		stopped := make(chan bool)
		go func() { stopped <- s.Stop(false) }()
		eventually(t, "the first stop is under way", func() bool { return s.Status().State == Stopping })
		s.Stop(true)
		<-stopped
	})
}

func TestService_DeathWhileServingIsReported(t *testing.T) {
	d := define(t, "serve")
	s, w := newTestService(t, d)
	mustStart(t, s)
	die(t, d)
	death := <-w.died
	want := &DeathError{Name: "child", Outcome: "exit status 4", Log: d.Log, Tail: "    dying as asked"}
	if diff := cmp.Diff(want, death); diff != "" {
		t.Errorf("death (-want +got):\n%s", diff)
	}
	eventually(t, "the service is stopped", func() bool { return s.Status().State == Stopped })
	mustStart(t, s)
	die(t, d)
	if diff := cmp.Diff(want, <-w.died); diff != "" {
		t.Errorf("a second death tells of the first as well (-want +got):\n%s", diff)
	}
}

// The observer hears of a death before the period of it is over.
func TestService_StartWhileADeathIsReportedIsANewOne(t *testing.T) {
	d := define(t, "serve")
	s, w := newTestService(t, d)
	w.died = make(chan *DeathError)
	mustStart(t, s)
	die(t, d)
	eventually(t, "the service is stopped", func() bool { return s.Status().State == Stopped })
	var started bool
	result := make(chan error)
	go func() {
		var err error
		started, err = s.Start(t.Context())
		result <- err
	}()
	select {
	case err := <-result:
		t.Fatalf("Start() = %v before death %v was reported", err, <-w.died)
	case death := <-w.died:
		if err := <-result; err != nil || !started {
			t.Errorf("Start() = %t, %v, want true, nil, after %v", started, err, death)
		}
	}
}

func TestService_DeathBeforeServingFailsTheStart(t *testing.T) {
	d := define(t, "fail")
	s, w := newTestService(t, d)
	_, err := s.Start(t.Context())
	death, ok := errors.AsType[*DeathError](err)
	if !ok {
		t.Fatalf("Start() = %v, want a DeathError", err)
	}
	var want []string
	for i := 15; i < 30; i++ {
		want = append(want, fmt.Sprintf("    line %d", i))
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), death.Tail); diff != "" {
		t.Errorf("tail (-want +got):\n%s", diff)
	}
	select {
	case err := <-w.died:
		t.Errorf("a failed start was reported as a death as well: %v", err)
	default:
	}
}

func TestService_StartTimeoutSaysWhatTheProbeSays(t *testing.T) {
	d := define(t, "deaf")
	d.StartTimeout = 300 * time.Millisecond
	errProbe := errors.New("not yet")
	d.Ready = func(context.Context, time.Time) error { return errProbe }
	s, _ := newTestService(t, d)
	if _, err := s.Start(t.Context()); !errors.Is(err, errProbe) {
		t.Errorf("Start() = %v, want the probe's error", err)
	}
	if got := s.Status().State; got != Starting {
		t.Errorf("state = %s, want the program left to itself", got)
	}
}

func TestService_StopOvertakesStart(t *testing.T) {
	d := define(t, "deaf")
	s, _ := newTestService(t, d)
	result := make(chan error)
	go func() {
		_, err := s.Start(t.Context())
		result <- err
	}()
	eventually(t, "the start is under way", func() bool { return s.Status().State == Starting })
	s.Stop(true)
	if err := <-result; !errors.Is(err, errStopped) {
		t.Errorf("Start() = %v, want %v", err, errStopped)
	}
}

func TestService_NoStartAfterClose(t *testing.T) {
	s, _ := newTestService(t, define(t, "serve"))
	s.Close(false)
	if _, err := s.Start(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("Start() = %v, want %v", err, errClosed)
	}
}

func TestService_PortInUseIsReportedAsThat(t *testing.T) {
	d := define(t, "serve")
	occupy(t, d.Addresses["http"])
	s, _ := newTestService(t, d)
	_, err := s.Start(t.Context())
	inUse, ok := errors.AsType[*port.InUseError](err)
	if !ok || inUse.Address != d.Addresses["http"] {
		t.Errorf("Start() = %v, want an InUseError for %s", err, d.Addresses["http"])
	}
}

func TestService_MissingExecutable(t *testing.T) {
	d := define(t, "serve")
	d.Path = t.TempDir() + "/absent"
	s, _ := newTestService(t, d)
	if _, err := s.Start(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Start() = %v, want %v", err, os.ErrNotExist)
	}
}

func TestService_BackoffBringsItBack(t *testing.T) {
	d := define(t, "serve")
	d.Backoff = &Backoff{First: 10 * time.Millisecond, Longest: 40 * time.Millisecond, Steady: time.Hour}
	s, w := newTestService(t, d)
	mustStart(t, s)
	var pauses []time.Duration
	for range 4 {
		before := s.Status().PID
		die(t, d)
		pauses = append(pauses, <-w.restarting)
		eventually(t, "it serves again", func() bool {
			status := s.Status()
			return status.State == Running && status.PID != before
		})
	}
	want := []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond, 40 * time.Millisecond}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	if got := s.Status().Restarts; got != 4 {
		t.Errorf("restarts = %d, want 4", got)
	}
}

func TestService_StopEndsTheBackoff(t *testing.T) {
	d := define(t, "serve")
	d.Backoff = &Backoff{First: time.Hour, Longest: time.Hour, Steady: time.Hour}
	s, w := newTestService(t, d)
	mustStart(t, s)
	die(t, d)
	<-w.restarting
	if got := s.Status().State; got != Restarting {
		t.Errorf("state = %s, want %s", got, Restarting)
	}
	s.Stop(false)
	if got := s.Status().State; got != Stopped {
		t.Errorf("state = %s, want %s", got, Stopped)
	}
	mustStart(t, s)
}

func TestService_StartGivesUpOnWhatAlwaysDies(t *testing.T) {
	d := define(t, "fail")
	d.Backoff = &Backoff{First: time.Millisecond, Longest: time.Millisecond, Steady: time.Hour}
	s, _ := newTestService(t, d)
	_, err := s.Start(t.Context())
	if _, ok := errors.AsType[*DeathError](err); !ok {
		t.Errorf("Start() = %v, want a DeathError", err)
	}
}

func TestSpawner_ChildrenDieWithTheParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = []string{childMode + "=parent"}
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if !alive(child) {
		t.Fatal("the child does not run")
	}
	if group, err := syscall.Getpgid(child); err != nil || group != child {
		t.Errorf("the child's group is %d (%v), want one of its own, %d", group, err, child)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	eventually(t, "the child is gone", func() bool { return !alive(child) })
}
