package access

import (
	"strings"
	"testing"

	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/ownershiptest"
)

// TestLacksNamespace: only where namespaces were read is one not there.
func TestLacksNamespace(t *testing.T) {
	s, err := ownershiptest.Parse("Namespace a\nConfigMap b/c")
	if err != nil {
		t.Fatal(err)
	}
	read := &inventory.Survey{Graph: s.Graph, Incomplete: []inventory.Incomplete{{Resource: "secrets"}}}
	unread := &inventory.Survey{Graph: s.Graph, Incomplete: []inventory.Incomplete{{Resource: "namespaces"}}}
	for namespace, want := range map[string]bool{"": false, "a": false, "b": true} {
		if got := LacksNamespace(read, namespace); got != want {
			t.Errorf("%q: got %t, want %t", namespace, got, want)
		}
		if LacksNamespace(unread, namespace) {
			t.Errorf("%q: it is not there, although namespaces could not be read", namespace)
		}
	}
}

func TestNoteGaps(t *testing.T) {
	gaps := func(resources ...string) []inventory.Incomplete {
		var list []inventory.Incomplete
		for _, resource := range resources {
			list = append(list, inventory.Incomplete{Resource: resource, Reason: "forbidden " + resource})
		}
		return list
	}
	for name, tc := range map[string]struct {
		gaps []inventory.Incomplete
		want string
	}{
		"none":           {nil, ""},
		"a few":          {gaps("a", "b"), "note: a could not be read, and may hold more: forbidden a\nnote: b could not be read, and may hold more: forbidden b\n"},
		"many":           {gaps("a", "b", "c", "d", "d", "e"), "note: a, b, c and 2 others, 5 in all, could not be read, and may hold more; -o json has the reason of each\n"},
		"one many times": {gaps("a", "a", "a", "a"), "note: a could not be read, and may hold more; -o json has each reason\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			NoteGaps(&out, tc.gaps)
			if out.String() != tc.want {
				t.Errorf("got %q, want %q", out.String(), tc.want)
			}
		})
	}
}

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

// TestSurveyFor: what is elsewhere counts, unless all targets are in one namespace.
func TestSurveyFor(t *testing.T) {
	for _, tc := range []struct {
		namespaces []string
		want       string
	}{
		{[]string{"a"}, "a"},
		{[]string{"a", "a"}, "a"},
		{[]string{"a", "b"}, ""},
		{[]string{"a", "b", "a"}, ""},
		{[]string{"", "a"}, ""},
		{[]string{"a", ""}, ""},
	} {
		var targets []Target
		for _, namespace := range tc.namespaces {
			targets = append(targets, Target{Namespace: namespace})
		}
		if got := SurveyFor(targets...).Namespace; got != tc.want {
			t.Errorf("targets in %q: the survey is of %q, want %q", tc.namespaces, got, tc.want)
		}
	}
}
