package v1alpha1

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestTeamSpaceFor(t *testing.T) {
	tests := map[string]struct {
		namespace, want string
		ok              bool
	}{
		"a team's namespace":           {"team-alpha", "alpha", true},
		"a name that starts alike":     {"team-team-alpha", "team-alpha", true},
		"the prefix alone":             {"team-", "", false},
		"the archive's namespace":      {"teamspace-archive", "teamspace-archive", false},
		"a namespace of somebody else": {"kube-system", "kube-system", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := TeamSpaceFor(tc.namespace)
			if got != tc.want || ok != tc.ok {
				t.Errorf("TeamSpaceFor(%q) = %q, %t, want %q, %t", tc.namespace, got, ok, tc.want, tc.ok)
			}
			if ok && NamespaceFor(got) != tc.namespace {
				t.Errorf("NamespaceFor(%q) = %q", got, NamespaceFor(got))
			}
		})
	}
}

// The longest name that the type allows still names a namespace.
func TestNamespaceFor_fitsALabel(t *testing.T) {
	const longest = 58
	if problems := validation.IsDNS1123Label(NamespaceFor(strings.Repeat("a", longest))); len(problems) > 0 {
		t.Errorf("%d characters: %v", longest, problems)
	}
	if problems := validation.IsDNS1123Label(NamespaceFor(strings.Repeat("a", longest+1))); len(problems) == 0 {
		t.Errorf("%d characters would fit too", longest+1)
	}
}

// Everything that is written on objects is a valid key, or the API server refuses it.
func TestKeys(t *testing.T) {
	for _, key := range []string{Finalizer, LabelTeamSpace, LabelGuardMode, AnnotationAdopt, AnnotationWebhooks, AnnotationAllowDelete} {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			t.Errorf("%s: %v", key, problems)
		}
	}
}
