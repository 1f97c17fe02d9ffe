package explain_test

import (
	"strings"
	"testing"

	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/ownershiptest"
)

// TestGolden reads testdata/*.txt: a scenario, and all that is said about it.
func TestGolden(t *testing.T) {
	ownershiptest.Golden(t, "testdata/*.txt", func(s *ownershiptest.Scenario) string {
		p := s.Predict()
		var b strings.Builder
		for _, e := range p.Effects() {
			b.WriteString(explain.Effect(p, e) + "\n")
		}
		for id := range graph.ID(s.Graph.Len()) {
			for _, number := range p.Blockers(id) {
				b.WriteString(explain.Blocker(p, number) + "\n")
			}
			if o := p.Outcome(id); !o.Deterministic() {
				b.WriteString(explain.Outcome(p, id) + "\n")
			}
		}
		return b.String()
	})
}

func TestOutcome_Deterministic(t *testing.T) {
	s, err := ownershiptest.Parse("ClusterWidget p")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := explain.Outcome(s.Predict(), 0), "ClusterWidget p ends live"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
