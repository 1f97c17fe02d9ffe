package inventory

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// TestOffline: without a cluster the schema of the built-in types speaks, and nothing else.
func TestOffline(t *testing.T) {
	offline := Offline{Types: graph.NewTypes(BuiltInTypes()...)}
	for name, tc := range map[string]struct {
		namespace string
		ref       metav1.OwnerReference
		want      rules.Class
	}{
		"a namespaced kind":                    {"a", metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"}, rules.Unknown},
		"a cluster-scoped kind":                {"a", metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "n"}, rules.Unknown},
		"bad scope":                            {"", metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"}, rules.BadScope},
		"a cluster-scoped owner of its like":   {"", metav1.OwnerReference{APIVersion: "v1", Kind: "Namespace", Name: "n"}, rules.Unknown},
		"a type of the aggregator":             {"", metav1.OwnerReference{APIVersion: "apiregistration.k8s.io/v1", Kind: "APIService", Name: "n"}, rules.Unknown},
		"a kind that its group does not have":  {"a", metav1.OwnerReference{APIVersion: "v1", Kind: "Deployment", Name: "d"}, rules.Unresolvable},
		"a kind that nobody can have":          {"a", metav1.OwnerReference{APIVersion: "x/v1", Kind: "*v1.X", Name: "d"}, rules.Unresolvable},
		"a kind of somebody else":              {"a", metav1.OwnerReference{APIVersion: "x/v1", Kind: "X", Name: "d"}, rules.Unknown},
		"the same, of a cluster-scoped object": {"", metav1.OwnerReference{APIVersion: "x/v1", Kind: "X", Name: "d"}, rules.Unknown},
		"a list":                               {"a", metav1.OwnerReference{APIVersion: "apps/v1", Kind: "DeploymentList", Name: "d"}, rules.Absent},
		"a name that cannot be":                {"a", metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: ".."}, rules.Absent},
	} {
		t.Run(name, func(t *testing.T) {
			owner := offline.GetOwner(t.Context(), offline.Now(), tc.namespace, tc.ref)
			if got := rules.Classify(tc.namespace, tc.ref, owner.Facts).Class; got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
	owner := offline.GetOwner(t.Context(), offline.Now(), "a", metav1.OwnerReference{APIVersion: "v1", Kind: "Deployment", Name: "d"})
	if len(owner.Suggest) != 1 || owner.Suggest[0].APIVersion != "apps/v1" {
		t.Errorf("suggests %v", owner.Suggest)
	}
}
