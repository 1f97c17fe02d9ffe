package rules_test

import (
	"testing"

	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/ownership/rules"
)

// TestReconsidered: what the collector may come back to ends either way, and the row
// says that nobody outside can know.
func TestReconsidered(t *testing.T) {
	s, err := ownershiptest.Parse("Widget a/w -> Widget ghost")
	if err != nil {
		t.Fatal(err)
	}
	id, _ := s.Find("Widget a/w")
	if o := rules.Predict(s.Graph).Outcome(id); o.Fates != rules.Live {
		t.Errorf("without it the object is %s, want %s", o.Fates, rules.Live)
	}
	o := rules.Predict(s.Graph, rules.Reconsidered(id)).Outcome(id)
	if o.Fates != rules.Live|rules.Gone || len(o.Because) == 0 {
		t.Errorf("with it the object is %s %v, want %s", o.Fates, o.Because, rules.Live|rules.Gone)
	}
}
