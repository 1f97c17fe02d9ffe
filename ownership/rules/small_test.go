package rules_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/ownership/rules"
)

// small lists every graph of three objects in a row of choices: who names whom
// and how, who has a finalizer of others, and how the first is deleted.
func small(yield func(text string)) {
	links := []string{"", "Widget %s", "Widget %s +b", "Widget %s; Widget %s +b =nobody", "Gadget %s =Widget/a/%s +b"}
	link := func(kind int, owner string) string {
		return strings.ReplaceAll(links[kind], "%s", owner)
	}
	for pick := range len(links) * len(links) * len(links) * len(links) * 4 * 4 {
		next := func(n int) int { i := pick % n; pick /= n; return i }
		ab, bc, ca, cb := next(len(links)), next(len(links)), next(len(links)), next(len(links))
		holds, policy := next(4), []string{"background", "foreground", "orphan", "default"}[next(4)]
		objects := []struct {
			name string
			refs []string
			hold bool
		}{
			{"x", []string{link(ca, "z")}, holds == 1},
			{"y", []string{link(ab, "x")}, holds == 2},
			{"z", []string{link(bc, "y"), link(cb, "x")}, holds == 3},
		}
		var b strings.Builder
		for _, o := range objects {
			fmt.Fprintf(&b, "Widget a/%s", o.name)
			if o.hold {
				b.WriteString(" [hold]")
			}
			if refs := strings.Trim(strings.Join(o.refs, ";"), ";"); refs != "" {
				b.WriteString(" -> " + refs)
			}
			b.WriteString("\n")
		}
		yield(b.String() + "delete " + policy + " Widget a/x")
	}
}

// TestSmall compares every one of these graphs with the naive cluster, in
// several orders each. Where the orders end in several states, the outcome has
// to say so; where it says so and they never do, it is too wide, which may
// happen, but not often.
func TestSmall(t *testing.T) {
	orders := 6
	if testing.Short() {
		orders = 1
	}
	random := rand.New(rand.NewPCG(7, 7))
	var seen tightness
	small(func(text string) {
		if orders == 1 && random.IntN(8) > 0 {
			return
		}
		s, err := ownershiptest.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		seen.graph(t, text, s, random, orders)
	})
	t.Logf("%d graphs; %d objects with an open end, of which %d ended in one way only", seen.graphs, seen.open, seen.wide)
	if orders > 1 && seen.wide*4 > seen.open*3 {
		t.Error("of four open ends more than three are not open at all")
	}
}

// tightness counts how often an open end is one.
type tightness struct{ graphs, open, wide int }

func (c *tightness) graph(t *testing.T, text string, s *ownershiptest.Scenario, random *rand.Rand, orders int) {
	t.Helper()
	c.graphs++
	p := s.Predict()
	ends := make([]map[string]bool, s.Graph.Len())
	for range orders {
		n := newNaive(random, s.Graph.Types())
		n.load(s.Graph, func(graph.ID) bool { return true }, func(graph.ID) bool { return false })
		n.deleteRequest(s.Graph.UID(0), 0, policyOf(text))
		n.settle()
		if wrong := compare(p, n); wrong != "" {
			t.Fatalf("%s\nprediction:\n%s\n%s", text, ownershiptest.Picture(p), wrong)
		}
		for id := range ends {
			if ends[id] == nil {
				ends[id] = map[string]bool{}
			}
			ends[id][ownershiptest.PrintState(s.Graph, graph.ID(id), n.end(s.Graph.UID(graph.ID(id))))] = true
		}
	}
	for id := range ends {
		if p.Outcome(graph.ID(id)).Deterministic() {
			continue
		}
		c.open++
		if len(ends[id]) == 1 {
			c.wide++
		}
	}
}

func policyOf(text string) metav1.DeletionPropagation {
	for word, policy := range map[string]metav1.DeletionPropagation{
		"background": metav1.DeletePropagationBackground, "foreground": metav1.DeletePropagationForeground,
		"orphan": metav1.DeletePropagationOrphan,
	} {
		if strings.Contains(text, "delete "+word) {
			return policy
		}
	}
	return ""
}

// TestOutcome_Allows: what a set of ends lets through and what not.
func TestOutcome_Allows(t *testing.T) {
	s, err := ownershiptest.Parse("Widget a/w\nGadget a/left -> Widget w\nGadget a/right -> Widget w\n" +
		"ConfigMap a/c [hold] -> Gadget left +b; Gadget right +c\ndelete background Widget a/w")
	if err != nil {
		t.Fatal(err)
	}
	id, _ := s.Find("ConfigMap a/c")
	o := s.Predict().Outcome(id)
	refs := s.Graph.Object(id).Owners
	freed, controlled := refs[0], refs[1]
	freed.BlockOwnerDeletion, controlled.Controller = nil, nil
	hold := []string{"hold"}
	for _, tc := range []struct {
		name  string
		state rules.State
		want  bool
	}{
		{"both references", rules.State{Exists: true, Deleting: true, Finalizers: hold, Owners: refs}, true},
		{"the first pruned", rules.State{Exists: true, Deleting: true, Finalizers: hold, Owners: refs[1:]}, true},
		{"the second pruned", rules.State{Exists: true, Deleting: true, Finalizers: hold, Owners: refs[:1]}, true},
		{"in another order", rules.State{Exists: true, Deleting: true, Finalizers: hold, Owners: []metav1.OwnerReference{refs[1], refs[0]}}, false},
		{"one twice", rules.State{Exists: true, Deleting: true, Finalizers: hold, Owners: []metav1.OwnerReference{refs[0], refs[0]}}, false},
		{"unblocked", rules.State{Exists: true, Deleting: true, Finalizers: hold, Owners: []metav1.OwnerReference{freed}}, false},
		{"not the controller any more", rules.State{Exists: true, Deleting: true, Finalizers: hold, Owners: []metav1.OwnerReference{controlled}}, false},
		{"without its finalizer", rules.State{Exists: true, Deleting: true, Owners: refs}, false},
		{"live", rules.State{Exists: true, Finalizers: hold, Owners: refs}, false},
		{"gone", rules.State{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := o.Allows(tc.state); got != tc.want {
				t.Errorf("allows: %v", got)
			}
		})
	}
}

// TestPrediction: what else a prediction answers.
func TestPrediction(t *testing.T) {
	s, err := ownershiptest.Parse("type acme.example/v0 Lever namespaced served-again\nLever a/l\nWidget a/w\n" +
		"ConfigMap a/c -> Widget w +b; Lever gone\nClusterRole r -> Widget w =Widget/a/w +b\nSecret a/s -> Lever l\n" +
		"Secret a/t [hold] -> Widget w\ndelete foreground Widget a/w")
	if err != nil {
		t.Fatal(err)
	}
	p := s.Predict()
	w, _ := s.Find("Widget a/w")
	c, _ := s.Find("ConfigMap a/c")
	role, _ := s.Find("ClusterRole r")
	secret, _ := s.Find("Secret a/s")
	if _, ok := p.Decision(c); ok || p.Likely(c).Exists {
		t.Error("ConfigMap a/c is still there")
	}
	first, _ := s.Graph.ReferenceRange(c)
	if _, ok := p.Classification(first); ok {
		t.Error("a reference of an object that is gone has a class")
	}
	if d, ok := p.Decision(role); !ok || d.Rule != rules.R05 {
		t.Errorf("ClusterRole r: %+v", d)
	}
	if d, ok := p.Decision(w); !ok || d.Rule != rules.R04 || d.Release || d.Because != "1 blockingDependents" {
		t.Errorf("Widget a/w: %+v", d)
	}
	blockers := p.Blockers(w)
	if len(blockers) != 1 || p.Deadlock(blockers[0]) != rules.F5 || p.Blockers(role) != nil {
		t.Errorf("blockers %v", blockers)
	}
	first, _ = s.Graph.ReferenceRange(secret)
	if got, _ := p.Classification(first); got.Class != rules.Solid || got.Doubt != rules.D2 {
		t.Errorf("Secret a/s: %+v", got)
	}
	if c, _ := s.Find("ConfigMap a/c"); !p.Outcome(c).Deterministic() {
		t.Errorf("ConfigMap a/c: %v", p.Outcome(c).Because)
	}
	if s, err = ownershiptest.Parse("Widget a/w\nSecret a/s -> Widget w\ndelete foreground Widget a/w"); err != nil {
		t.Fatal(err)
	}
	if !s.Predict().Deterministic() {
		t.Error("nothing is open here, yet it says so")
	}
	if s, err = ownershiptest.Parse("Widget a/w [hold]\nSecret a/s -> Widget w\ndelete foreground Widget a/w"); err != nil {
		t.Fatal(err)
	}
	if s.Predict().Deterministic() {
		t.Error("whether Secret a/s sees the owner wait is open")
	}
}
