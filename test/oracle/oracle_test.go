package oracle_test

import (
	"testing"
	"time"

	"labhub.io/teamspace/test/oracle"
)

// TestAgreement is `make oracle` in short. Its graphs are always the same, so that a
// failure is the fault of a change; graphs that nobody has seen are for `make oracle`.
func TestAgreement(t *testing.T) {
	reports, err := oracle.Run(t.Context(), oracle.Options{
		Draws:    []oracle.Draw{{Seed: 1, Graphs: 30}},
		Progress: t.Output(), ShrinkFor: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		t.Log(r)
		for _, d := range r.Disagreements {
			t.Error(d)
		}
		if r.Agreed != r.Graphs {
			t.Errorf("%d graphs disagree; to see them again: make oracle GRAPHS=%d SEED=%d", r.Graphs-r.Agreed, r.Graphs, r.Seed)
		}
	}
}
