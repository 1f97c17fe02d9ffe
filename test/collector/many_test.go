package collector

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
	"labhub.io/teamspace/test/oracle/live"
	"labhub.io/teamspace/test/oracle/plane"
)

const (
	// owners is more than the 500 that the collector remembers as absent, and more than
	// it gets to in the half minute for which it maps the type: what it reads then
	// pushes others out of its memory.
	owners = 1000
	// requests is the limit of a real kube-controller-manager. With that of the sandbox
	// it would be done in time.
	requests = 20

	// steady is when nothing more is to come: beside the deletions the collector is busy
	// asking what is served, for each child that it cannot judge.
	steady = 30 * time.Second
)

var crowd = custom("Crowd", "v1")

// TestR14_MoreThan500AbsentOwners: a type is removed with more objects than the
// collector remembers as absent, each with a child. Some children go while it still
// maps the type, some since their owner is remembered; the others leak, and a new
// collector does not get them either.
func TestR14_MoreThan500AbsentOwners(t *testing.T) {
	t.Parallel()
	l := newLab(t, plane.Slow(requests), []live.Definition{crowd})
	s := l.scene(t, "many")
	s.knows(crowd, "")
	s.createCrowd()
	s.knows(crowd, "vanished-earlier")
	var deletions strings.Builder
	for i := range owners {
		fmt.Fprintf(&deletions, "delete background Crowd a/c%d\n", i)
	}
	p := s.Predict(deletions.String())
	if err := l.cluster.Undefine(t.Context(), crowd); err != nil {
		t.Fatal(err)
	}
	left := s.awaitSteady()
	t.Logf("of %d children %d are left", owners, left)
	if left < 100 || owners-left < 100 {
		t.Error("want many of both")
	}
	s.Compare(p)
	g := p.Graph()
	for id := range graph.ID(g.Len()) {
		fates := p.Outcome(id).Fates
		if _, kind, _ := g.Kind(id); kind == "ConfigMap" && fates != rules.Live|rules.Gone {
			t.Fatalf("%s is predicted to be %s, want %s", g.UID(id), fates, rules.Live|rules.Gone)
		}
	}
	if err := l.plane.StopCollector(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.plane.StartCollector(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.knows(crowd, "not-served")
	s.Plays("restart", s.Print())
}

// createCrowd creates the objects, several of them at a time.
func (s *row) createCrowd() {
	s.Helper()
	var text strings.Builder
	for i := range owners {
		fmt.Fprintf(&text, "Crowd a/c%d\n", i)
	}
	s.createAll(text.String())
	for i := range owners {
		fmt.Fprintf(&text, "ConfigMap a/c%d -> Crowd c%d\n", i, i)
	}
	s.createAll(text.String())
}

// createAll creates those objects of the text that are not there yet.
func (s *row) createAll(text string) {
	s.Helper()
	g := s.Parse(text).Graph
	var objects []graph.Object
	for id := range graph.ID(g.Len()) {
		if o := g.Object(id); !s.Space.Knows(o.UID) {
			objects = append(objects, o)
		}
	}
	if err := s.Space.CreateAll(s.Context(), objects); err != nil {
		s.Fatal(err)
	}
}

// awaitSteady waits until the children do not become fewer any more, and returns how
// many are left.
func (s *row) awaitSteady() int {
	s.Helper()
	left, since := owners, time.Now()
	s.Eventually("the collector to come to an end", func() error {
		if n := len(s.Objects()); n != left {
			left, since = n, time.Now()
		}
		if time.Since(since) < steady {
			return fmt.Errorf("%d are left", left)
		}
		return nil
	})
	return left
}
