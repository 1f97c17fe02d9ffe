package rules_test

import (
	"testing"

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
