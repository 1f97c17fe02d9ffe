package world

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// Shared is one world for the tests of a package:
//
//	var lab = &world.Shared{}
//
//	func TestMain(m *testing.M) { lab.Run(m) }
//
//	func TestX(t testing.TB) { w := lab.World(t); … }
//
// The first test that asks for it starts it.
type Shared struct {
	// Options are those of the world.
	Options Options

	// Prepare, if set, is done once, before any test gets the world.
	Prepare func(context.Context, *World) error

	once  sync.Once
	world *World
	err   error
}

// Run runs the tests and ends the world after them.
func (s *Shared) Run(m *testing.M) {
	m.Run() // its code is that of the program, as long as nobody exits before
	if s.world == nil {
		return
	}
	if err := s.world.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // the only way in which TestMain can fail
	}
}

// World returns the world. When the test fails, what the manager logged meanwhile
// is in the test's log.
func (s *Shared) World(t testing.TB) *World {
	t.Helper()
	s.once.Do(func() {
		s.world, s.err = launch(s.Options)
		if s.err == nil && s.Prepare != nil {
			s.err = s.Prepare(t.Context(), s.world)
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	w := s.world
	select {
	case <-w.process.Ended():
		t.Fatalf("the sandbox of the tests before has ended, and said:\n%s", w.process.Output())
	default:
	}
	var before int64
	if info, err := os.Stat(w.managerLog()); err == nil {
		before = info.Size()
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.report(before))
		}
	})
	return w
}

// reportLimit keeps the log of a failed test readable.
const reportLimit = 60 // lines

// report is what the manager logged, from a place in its log on, and what the sandbox
// said.
func (w *World) report(from int64) string {
	text, err := os.ReadFile(w.managerLog())
	if err != nil {
		text = []byte(err.Error())
		from = 0
	}
	lines := strings.Split(strings.TrimSpace(string(text[min(from, int64(len(text))):])), "\n")
	if cut := len(lines) - reportLimit; cut > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines left out)", cut)}, lines[cut:]...)
	}
	return fmt.Sprintf("the manager logged:\n%s\nthe sandbox said:\n%s", strings.Join(lines, "\n"), w.process.Output())
}
