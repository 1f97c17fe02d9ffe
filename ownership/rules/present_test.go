package rules_test

import (
	"testing"

	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/ownership/rules"
)

// TestPresent: each class, of the only reference in a graph.
func TestPresent(t *testing.T) {
	for name, tc := range map[string]struct {
		text  string
		class rules.Class
		rule  rules.Rule
	}{
		"K2 unresolvable":               {"Secret a/s -> Gizmo:nowhere.example/v1 g", rules.Unresolvable, rules.K2},
		"K3 bad scope":                  {"Widget a/w\nClusterRole r -> Widget w =Widget/a/w", rules.BadScope, rules.K3},
		"K4 absent":                     {"Secret a/s -> Widget w", rules.Absent, rules.K4},
		"K4 in another namespace":       {"Widget b/w\nSecret a/s -> Widget w =Widget/b/w", rules.Absent, rules.K4},
		"K4 another name has the uid":   {"Widget a/w\nSecret a/s -> Widget v =Widget/a/w", rules.Absent, rules.K4},
		"K5 a type that was not read":   {"type acme.example/v2 Sealed namespaced unreadable\nSecret a/s -> Sealed s", rules.Unknown, rules.K5},
		"K7 waiting":                    {"Widget a/w dying [fg]\nSecret a/s -> Widget w", rules.Waiting, rules.K7},
		"K8 solid":                      {"Widget a/w\nSecret a/s -> Widget w", rules.Solid, rules.K8},
		"K8 solid although it goes":     {"Widget a/w dying [hold]\nSecret a/s -> Widget w", rules.Solid, rules.K8},
		"K8 solid in a dying namespace": {"Namespace a dying [kubernetes]\nWidget a/w\nSecret a/s -> Widget w", rules.Solid, rules.K8},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ownershiptest.Parse(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := rules.Present(s.Graph, 0); got.Class != tc.class || got.Rule != tc.rule {
				t.Errorf("got %s by %s, want %s by %s", got.Class, got.Rule, tc.class, tc.rule)
			}
		})
	}
}
