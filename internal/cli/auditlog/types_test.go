package auditlog

import (
	"fmt"
	"strings"
	"testing"
)

// TestType: what nobody can be asked about is found as the log names it.
func TestType(t *testing.T) {
	definition := line(1, "create", "customresourcedefinitions.apiextensions.k8s.io", "levers.acme.example", admin, 201,
		`"responseObject":{"kind":"CustomResourceDefinition","metadata":{"name":"levers.acme.example"},"spec":{"scope":"Cluster","names":{"kind":"Lever"}}}`)
	log := line(1, "create", "widgets.acme.example", "a/w", admin, 201, `"responseObject":{"kind":"Widget","metadata":{"name":"w"}}`) +
		line(2, "delete", "nodes", "n", admin, 200, "") +
		line(2, "delete", "namespaces", "a/a", admin, 200, "") +
		line(3, "delete", "gadgets.one.example", "a/g", admin, 200, "") +
		line(3, "delete", "gadgets.two.example", "a/h", admin, 200, "") +
		line(3, "delete", "policies.acme.example", "a/p", admin, 200, "") +
		line(3, "delete", "ghosts.acme.example", "a/p", admin, 404, "") +
		definition + line(4, "delete", "customresourcedefinitions.apiextensions.k8s.io", "bare.acme.example", admin, 200, "")
	for name, tc := range map[string]struct{ word, object, want string }{
		"the plural":                         {"widgets", "w", "widgets.acme.example Widget true"},
		"the singular":                       {"widget", "w", "widgets.acme.example Widget true"},
		"the kind":                           {"Widget", "w", "widgets.acme.example Widget true"},
		"with the group":                     {"widgets.acme.example", "w", "widgets.acme.example Widget true"},
		"the singular with the group":        {"widget.acme.example", "w", "widgets.acme.example Widget true"},
		"another group":                      {"widgets.other.example", "w", "error"},
		"an irregular plural":                {"policy", "p", "policies.acme.example  true"},
		"in no namespace":                    {"node", "n", "nodes  false"},
		"a namespace":                        {"ns", "a", "namespaces  false"},
		"the one with the object":            {"gadgets", "g", "gadgets.one.example  true"},
		"neither has it":                     {"gadgets", "x", "error"},
		"neither has it, but one is meant":   {"gadgets.two.example", "x", "gadgets.two.example  true"},
		"only the definition is known":       {"lever", "l", "levers.acme.example Lever false"},
		"only that it was deleted":           {"bare.acme.example", "b", "bare.acme.example  true"},
		"a definition with a version":        {"levers.v1.acme.example", "l", "levers.acme.example Lever false"},
		"what was asked about but never was": {"ghosts", "p", "error"},
		"nothing of that name":               {"nothing", "x", "error"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := logOf(t, log).Type(t.Context(), tc.word, tc.object)
			got := fmt.Sprintf("%s %s %t", found.Resource.GroupResource(), found.Kind, found.Namespaced)
			if err != nil {
				got = "error"
			}
			if got != tc.want {
				t.Errorf("got %q (%v), want %q", got, err, tc.want)
			}
			if err != nil && !strings.Contains(err.Error(), tc.word) {
				t.Errorf("the error does not name the type: %v", err)
			}
		})
	}
}
