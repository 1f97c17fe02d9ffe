package rules_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/ownership/rules"
)

// TestUnread: of a namespace that may hold more than was read nobody knows whether it goes,
// nor of what goes with it; what is known to be in it goes all the same.
func TestUnread(t *testing.T) {
	s, err := ownershiptest.Parse(`
		Namespace n
		ConfigMap n/c
		ClusterRole r -> Namespace n
		Namespace other`)
	if err != nil {
		t.Fatal(err)
	}
	namespace, _ := s.Find("Namespace n")
	for words, want := range map[string]rules.Fate{
		"Namespace n":     rules.Dying | rules.Gone,
		"ConfigMap n/c":   rules.Gone,
		"ClusterRole r":   rules.Live | rules.Gone,
		"Namespace other": rules.Live,
	} {
		other, _ := s.Find("Namespace other")
		p := rules.Predict(s.Graph, rules.Unread(namespace, other), rules.Deleted(metav1.DeletePropagationBackground, namespace))
		id, _ := s.Find(words)
		o := p.Outcome(id)
		if o.Fates != want {
			t.Errorf("%s ends as %s, want %s", words, o.Fates, want)
		}
		if !o.Allows(p.Likely(id)) {
			t.Errorf("%s: the likely end %+v is none of those that are possible", words, p.Likely(id))
		}
		if words == "Namespace n" && !slices.Contains(o.Because, rules.N0) {
			t.Errorf("%s is open because of %v", words, o.Because)
		}
	}
}
