package sample_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/ownership/rules"
	"labhub.io/teamspace/test/oracle/sample"
)

const many = 3000

func samples(t *testing.T, visit func(*sample.Sample)) {
	t.Helper()
	for number := range uint64(many) {
		visit(sample.Draw(7, number))
		if t.Failed() {
			t.Fatalf("in sample %d:\n%s", number, sample.Draw(7, number))
		}
	}
}

func TestDraw_SameSeedSameSample(t *testing.T) {
	samples(t, func(*sample.Sample) {})
	for number := range uint64(200) {
		if a, b := sample.Draw(7, number).String(), sample.Draw(7, number).String(); a != b {
			t.Fatalf("sample %d is first\n%s\nand then\n%s", number, a, b)
		}
	}
	if sample.Draw(7, 1).String() == sample.Draw(8, 1).String() || sample.Draw(7, 1).String() == sample.Draw(7, 2).String() {
		t.Error("other seeds and numbers give the same sample")
	}
}

func TestTypes_AreThoseOfTheNotation(t *testing.T) {
	for _, typ := range sample.Types() {
		if !slices.Contains(ownershiptest.Types(), typ) {
			t.Errorf("%s %s is another type in the notation", typ.APIVersion, typ.Kind)
		}
	}
}

// TestDraw_IsAccepted: nothing is drawn that the API server refuses.
func TestDraw_IsAccepted(t *testing.T) {
	both := []string{metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents}
	samples(t, func(s *sample.Sample) {
		names := map[types.UID]bool{}
		for _, o := range s.All() {
			if names[o.UID] {
				t.Errorf("%s is there twice", o.UID)
			}
			names[o.UID] = true
			controllers := 0
			for _, ref := range o.Owners {
				if ref.APIVersion == "" || ref.Kind == "" || ref.Name == "" || ref.UID == "" {
					t.Errorf("%s has an incomplete reference (V1)", o.UID)
				}
				if ref.APIVersion == "v1" && ref.Kind == "Event" {
					t.Errorf("%s is owned by a core Event (V3)", o.UID)
				}
				if ref.Controller != nil && *ref.Controller {
					controllers++
				}
			}
			if controllers > 1 {
				t.Errorf("%s has %d controllers (V4)", o.UID, controllers)
			}
			if slices.Contains(o.Finalizers, both[0]) && slices.Contains(o.Finalizers, both[1]) {
				t.Errorf("%s has both finalizers of the collector (F13)", o.UID)
			}
		}
	})
}

// TestDraw_Steps: what a prediction can be told of the steps is what happens.
func TestDraw_Steps(t *testing.T) {
	samples(t, func(s *sample.Sample) {
		exists, changed := map[types.UID]bool{}, map[types.UID]bool{}
		for _, o := range s.Objects {
			exists[o.UID] = true
		}
		for i, r := range s.Rounds {
			if r.Mode == sample.Running && len(r.Steps) != 1 {
				t.Errorf("in round %d a running collector sees %d steps", i, len(r.Steps))
			}
			deleting := false
			for _, step := range r.Steps {
				if r.Mode == sample.Paused && (step.Verb == sample.Delete) != (r.Steps[0].Verb == sample.Delete) {
					t.Errorf("round %d makes and deletes", i)
				}
				if step.Verb == sample.Create {
					exists[step.Object] = true
				}
				if !exists[step.Object] {
					t.Errorf("round %d does something to %s before it is there", i, step.Object)
				}
				if deleting && step.Verb != sample.Delete {
					t.Errorf("round %d makes something after it has deleted", i)
				}
				deleting = deleting || step.Verb == sample.Delete
				if step.Verb != sample.Delete && r.Mode != sample.Down {
					if changed[step.Object] {
						t.Errorf("%s is changed twice before the eyes of the collector", step.Object)
					}
					changed[step.Object] = true
				}
			}
		}
	})
}

// TestDraw_Covers: every class of references, every action and what else the rules
// tell apart is among the samples, and not as a rare exception.
func TestDraw_Covers(t *testing.T) {
	seen := map[string]int{}
	samples(t, func(s *sample.Sample) {
		b := graph.NewBuilder(graph.NewTypes(sample.Types()...))
		for _, o := range s.All() {
			if err := b.Add(o); err != nil {
				t.Fatal(err)
			}
		}
		g := b.Graph()
		events := []rules.Event{rules.Restarted()}
		for _, r := range s.Rounds {
			seen["mode "+r.Mode.String()]++
			for _, step := range r.Steps {
				seen["verb "+string(rune('0'+step.Verb))+" "+string(step.Policy)]++
				if id, ok := g.Find(step.Object); ok && step.Verb == sample.Delete {
					events = append(events, rules.Deleted(step.Policy, id))
				}
			}
		}
		count(seen, rules.Predict(g), false)
		count(seen, rules.Predict(g, events...), true)
	})
	for _, what := range []string{
		"class solid", "class absent", "class waiting", "class unresolvable", "class bad scope",
		"action keep", "action delete", "action prune", "action skip (terminating)", "action never collected", "action retry",
		"action unmanaged", "cycle", "self", "twin", "list", "lower case", "blocking", "cluster", "open",
		"verb 0 ", "verb 0 Background", "verb 0 Foreground", "verb 0 Orphan", "verb 1 ", "verb 2 ", "verb 3 ",
		"finalizer " + sample.Hold, "finalizer orphan", "finalizer foregroundDeletion",
		"kind ConfigMap", "kind Secret", "kind Namespace", "kind Deployment", "kind Job", "kind Event", "kind Widget",
		"kind Gadget", "kind ClusterWidget", "kind ClusterRole",
	} {
		if seen[what] < many/100 {
			t.Errorf("%s: %d times in %d samples", what, seen[what], many)
		}
	}
}

// count counts what a graph has, before and after it was predicted, and what becomes of
// it.
func count(seen map[string]int, p *rules.Prediction, after bool) {
	g := p.Graph()
	for id := range graph.ID(g.Len()) {
		if d, ok := p.Decision(id); ok {
			seen["action "+d.Action.String()]++
		}
		if after && !p.Outcome(id).Deterministic() {
			seen["open"]++
		}
		if !after {
			countObject(seen, g.Object(id))
		}
	}
	for number := range g.References() {
		if c, ok := p.Classification(number); ok {
			seen["class "+c.Class.String()]++
		}
	}
	for _, cycle := range g.Cycles() {
		if len(cycle) > 1 {
			seen["cycle"]++
		} else {
			seen["self"]++
		}
	}
}

func countObject(seen map[string]int, o graph.Object) {
	seen["kind "+o.Kind]++
	for _, f := range o.Finalizers {
		seen["finalizer "+f]++
	}
	if o.Namespace == "" {
		seen["cluster"]++
	}
	countReferences(seen, o.Owners)
}

func countReferences(seen map[string]int, refs []metav1.OwnerReference) {
	uids := map[types.UID]bool{}
	for _, ref := range refs {
		if uids[ref.UID] {
			seen["twin"]++
		}
		uids[ref.UID] = true
		if strings.HasSuffix(ref.Kind, "List") {
			seen["list"]++
		}
		if strings.ToLower(ref.Kind) == ref.Kind {
			seen["lower case"]++
		}
		if ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
			seen["blocking"]++
		}
	}
}

// TestReduce: each reduction makes a sample smaller, or else finds nothing to do, and
// all together leave nothing.
func TestReduce(t *testing.T) {
	for number := range uint64(100) {
		s := sample.Draw(7, number)
		before := s.String()
		all := s.Reductions()
		for i, r := range all {
			if smaller := s.Reduce(r); smaller.Size() >= s.Size() {
				t.Errorf("sample %d: reduction %d leaves the size at %d", number, i, smaller.Size())
			}
		}
		if left := s.Reduce(all...); len(left.All()) > 0 {
			t.Errorf("sample %d: all reductions leave %s", number, left)
		}
		if s.String() != before {
			t.Fatalf("sample %d was changed by what made smaller ones of it", number)
		}
	}
}
