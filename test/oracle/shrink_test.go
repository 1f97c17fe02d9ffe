package oracle

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/ownership/rules"
	"labhub.io/teamspace/test/oracle/sample"
)

// TestShrink: whatever the graph, what is left is what it takes to disagree, here a
// held object that owns another and is deleted in the second round.
func TestShrink(t *testing.T) {
	shows := func(s *sample.Sample) bool {
		for _, o := range s.Objects {
			owns := slices.ContainsFunc(s.Objects, func(other graph.Object) bool {
				return slices.ContainsFunc(other.Owners, func(ref metav1.OwnerReference) bool { return ref.UID == o.UID })
			})
			deleted := slices.ContainsFunc(s.Rounds[1].Steps, func(step sample.Step) bool {
				return step.Verb == sample.Delete && step.Object == o.UID
			})
			if owns && deleted && slices.Contains(o.Finalizers, sample.Hold) {
				return true
			}
		}
		return false
	}
	plays := 0
	s := shrinker{
		deadline: time.Now().Add(time.Minute),
		say:      t.Logf,
		play: func(_ context.Context, samples []*sample.Sample) ([]*Disagreement, error) {
			plays++
			found := make([]*Disagreement, len(samples))
			for i, some := range samples {
				if shows(some) {
					found[i] = &Disagreement{Sample: some, Round: 1}
				}
			}
			return found, nil
		},
	}
	tried := 0
	for number := uint64(0); tried < 5; number++ {
		d := &Disagreement{Sample: sample.Draw(1, number), Round: 1}
		if !shows(d.Sample) {
			continue
		}
		tried++
		if err := s.shrink(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if d.Sample.Size() > 14 || !shows(d.Sample) || len(d.Sample.Rounds) != 2 {
			t.Errorf("sample %d is left at %d:\n%s", number, d.Sample.Size(), d.Sample)
		}
	}
	if plays > 8*tried {
		t.Errorf("%d samples took %d plays, each of which takes half a minute for real", tried, plays)
	}
}

// TestDisagreement: a person sees at once what was predicted, what is true, and where
// they differ.
func TestDisagreement(t *testing.T) {
	scenario, err := ownershiptest.Parse(`
		Widget a/owner
		ConfigMap a/child [acme.example/hold] -> Widget owner +b
		ConfigMap a/other -> Widget owner
	`)
	if err != nil {
		t.Fatal(err)
	}
	g := scenario.Graph
	tr := &trial{sample: &sample.Sample{}}
	for id := range graph.ID(g.Len()) {
		tr.objects = append(tr.objects, g.Object(id))
	}
	tr.sample.Objects = tr.objects
	tr.deleted = []sample.Step{{Verb: sample.Delete, Object: "Widget/a/owner", Policy: metav1.DeletePropagationForeground}}
	tr.predict(sample.Running)
	d := newDisagreement(tr, 0, sample.Running, func(uid types.UID) rules.State {
		if uid == "Widget/a/owner" {
			return rules.State{}
		}
		id, _ := tr.prediction.Graph().Find(uid)
		return tr.prediction.Likely(id)
	})
	d.Seed, d.Number = 7, 3
	got := strings.TrimSpace(d.String())
	want := strings.TrimSpace(`
graph 3 of seed 7 disagrees after round 0, in which the collector was running:

  Widget a/owner
  ConfigMap a/child [acme.example/hold] -> Widget owner +b
  ConfigMap a/other -> Widget owner
  delete foreground Widget a/owner

  predicted                                                        truth
! Widget a/owner dying [fg]                                      | Widget a/owner gone
  ConfigMap a/child dying [acme.example/hold] -> Widget owner +b | ConfigMap a/child dying [acme.example/hold] -> Widget owner +b
  ConfigMap a/other gone                                         | ConfigMap a/other gone
`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("it reads (-want +got):\n%s", diff)
	}
}
