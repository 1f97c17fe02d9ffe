package rules_test

import (
	"testing"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/ownershiptest"
)

// FuzzPredict: whatever the graph, prediction ends without a panic, the likely
// end is one of those that are allowed, and every object has one.
func FuzzPredict(f *testing.F) {
	f.Add("Widget a/w\nConfigMap a/c [hold fg] -> Widget w +b; Widget ghost\nrestart\ndelete foreground Widget a/w")
	f.Add("Namespace a dying\nWidget a/w -> Widget w +b; widget:acme.example/v1 w =Widget/a/w\ndelete orphan Widget a/w\ndelete default Widget a/w")
	f.Add("type acme.example/v0 Widget namespaced vanished-recently\nEvent a/e -> Widget:acme.example/v0 w\nConfigMap a/c -> Event e\ncreate ConfigMap a/c")
	f.Add("Widget a/a -> Widget b +b\nWidget a/b [orphan] -> Widget a +b; Job j\nJob a/j dying marked [hold] -> Widget a\ndelete foreground Widget a/a")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ownershiptest.Parse(text)
		if err != nil {
			return
		}
		p := s.Predict()
		for id := range graph.ID(s.Graph.Len()) {
			o := p.Outcome(id)
			if o.Fates == 0 || !o.Allows(p.Likely(id)) {
				t.Errorf("object %d ends against its outcome:\n%s", id, ownershiptest.Picture(p))
			}
			if (len(o.Because) > 0) == o.Deterministic() {
				t.Errorf("object %d: open without a reason, or the reverse: %v", id, o)
			}
		}
		s.Graph.Cycles()
	})
}
