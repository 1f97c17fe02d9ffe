package rules_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/ownership/rules"
)

// TestUnheld: without the finalizers of others an object goes with its deletion, and takes
// its dependents along, as one that never had them (F12).
func TestUnheld(t *testing.T) {
	for name, text := range map[string]string{
		"deleted now":      "Widget a/w [acme.example/hold]\nConfigMap a/c -> Widget w",
		"deleted before":   "Widget a/w dying [acme.example/hold]\nConfigMap a/c -> Widget w",
		"a foreground one": "Widget a/w [acme.example/hold foregroundDeletion]\nConfigMap a/c -> Widget w",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ownershiptest.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			owner, _ := s.Find("Widget a/w")
			dependent, _ := s.Find("ConfigMap a/c")
			deleted := rules.Deleted(metav1.DeletePropagationBackground, owner)
			held := rules.Predict(s.Graph, deleted)
			if !held.Likely(owner).Exists || !held.Likely(dependent).Exists {
				t.Error("the finalizer of others does not hold it")
			}
			free := rules.Predict(s.Graph, rules.Unheld(owner), deleted)
			for _, id := range []graph.ID{owner, dependent} {
				if o := free.Outcome(id); free.Likely(id).Exists || o.Fates != rules.Gone {
					t.Errorf("%s ends as %s", s.Graph.Name(id), o.Fates)
				}
			}
		})
	}
}

// TestUnheld_NamesNoneOfThem: what is still there for another reason is not said to have the
// finalizers that were taken off; what nobody deletes keeps them.
func TestUnheld_NamesNoneOfThem(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"F2 a dependent blocks it":            {"Widget a/w [hold]\nWidget a/d [more] -> Widget w +b\ndelete foreground Widget a/w", []string{fgFinalizer}},
		"F6 it blocks itself":                 {"Widget a/w dying [hold fg] -> Widget w +b\ndelete default Widget a/w", []string{fgFinalizer}},
		"F12 a Namespace with something left": {"Namespace w [hold]\nWidget w/d [more]\ndelete background Namespace w", nil},
		"nobody deletes it":                   {"Widget a/w [hold]\nrestart", []string{"hold"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ownershiptest.Parse(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			p := rules.Predict(s.Graph, append([]rules.Event{rules.Unheld(0)}, s.Events...)...)
			state := p.Likely(0)
			if !state.Exists || !slices.Equal(state.Finalizers, tc.want) {
				t.Errorf("it is left as %+v, want the finalizers %q", state, tc.want)
			}
			if o := p.Outcome(0); !o.Allows(state) {
				t.Errorf("the outcome %+v does not allow %+v", o, state)
			}
		})
	}
}

// TestUnheld_AsIfTheyHadNeverBeen: of random graphs, objects whose finalizers of others are
// taken off end as in the same graph without these finalizers.
func TestUnheld_AsIfTheyHadNeverBeen(t *testing.T) {
	freed := 0
	for i := range uint64(5000) {
		random := rand.New(rand.NewPCG(*seed, i))
		d := draw(random)
		without, free := unheld(t, d.graph)
		got := rules.Predict(d.graph, append([]rules.Event{rules.Unheld(free...)}, d.events...)...)
		want := rules.Predict(without, d.events...)
		freed += len(free)
		for id := range graph.ID(d.graph.Len()) {
			one, other := got.Likely(id), want.Likely(id)
			if !one.Deleting { // it keeps what it has
				one.Finalizers, other.Finalizers = nil, nil
			}
			if diff := cmp.Diff(other, one); diff != "" {
				t.Fatalf("graph %d of seed %d:\n%s\nfree: %v\n%s ends otherwise (-without +unheld):\n%s", i, *seed, d, free, d.name(id), diff)
			}
			if o := got.Outcome(id); o.Fates != want.Outcome(id).Fates || !o.Allows(got.Likely(id)) {
				t.Fatalf("graph %d of seed %d:\n%s\nfree: %v\n%s: %+v", i, *seed, d, free, d.name(id), o)
			}
		}
	}
	if freed == 0 {
		t.Error("no object had finalizers to take off")
	}
}

// unheld returns the graph without the finalizers of others, and who has lost some. What is
// being deleted keeps them if they are all that it has: without any it would be gone.
func unheld(t *testing.T, g *graph.Graph) (*graph.Graph, []graph.ID) {
	t.Helper()
	b := graph.NewBuilder(g.Types())
	var free []graph.ID
	for id := range graph.ID(g.Len()) {
		o := g.Object(id)
		rest := slices.DeleteFunc(slices.Clone(o.Finalizers), func(f string) bool { return f != fgFinalizer && f != orphanFinalizer })
		if len(rest) < len(o.Finalizers) && (!o.Deleting || len(rest) > 0 || o.Kind == "Namespace") {
			o.Finalizers = rest
			free = append(free, id)
		}
		if err := b.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	return b.Graph(), free
}
