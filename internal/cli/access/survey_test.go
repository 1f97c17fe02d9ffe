package access

import (
	"testing"

	"labhub.io/teamspace/ownership/ownershiptest"
)

func TestOwnedByEvents(t *testing.T) {
	for text, want := range map[string]bool{
		"ConfigMap a/c -> Widget w =none":                          false,
		"ConfigMap a/c -> Widget w =none; Event e =other":          true,
		"ConfigMap a/c -> event:events.k8s.io/v1 e =other":         true,
		"ConfigMap a/c -> Nothing:events.k8s.io/v1 e =other":       false,
		"Event a/e\nConfigMap a/c -> Event e":                      false, // read already
		"ConfigMap a/c\nSecret a/s -> ConfigMap c; Widget w =none": false,
	} {
		s, err := ownershiptest.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := ownedByEvents(s.Graph); got != want {
			t.Errorf("%q: got %t, want %t", text, got, want)
		}
	}
}
