package oracle_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"labhub.io/teamspace/test/oracle"
)

// TestAgreement is `make oracle` in short: graphs that are always the same, and as many
// that nobody has seen before.
func TestAgreement(t *testing.T) {
	seed := uint64(rand.Uint32())
	t.Logf("the other seed is %d", seed)
	reports, err := oracle.Run(t.Context(), oracle.Options{
		Draws:    []oracle.Draw{{Seed: 1, Graphs: 16}, {Seed: seed, Graphs: 16}},
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
