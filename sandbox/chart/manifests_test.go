package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestManifests_Add(t *testing.T) {
	m := &Manifests{}
	err := m.add(`
# a comment alone
---
---
apiVersion: v1
kind: Secret
metadata: {name: one}
---
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: hook, annotations: {helm.sh/hook: pre-delete}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: hook, annotations: {helm.sh/hook: pre-delete}}
`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Secret/one", "ConfigMap/two"}, names(m.Objects)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if len(m.CRDs) != 0 || len(m.Deployments) != 0 {
		t.Errorf("CRDs = %v, Deployments = %v, want none", m.CRDs, m.Deployments)
	}
}

func TestManifests_AddErrors(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"no kind":                          {"apiVersion: v1\nmetadata: {name: x}\n", "no kind"},
		"no name":                          {"apiVersion: v1\nkind: Secret\n", "no name"},
		"no YAML":                          {"a: b: c\n", "yaml"},
		"a Deployment with a typing error": {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {replica: 1}\n", `Deployment "x"`},
	} {
		err := (&Manifests{}).add(tc.text)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: add() = %v, want an error with %q", name, err, tc.want)
		}
	}
}

func TestRank(t *testing.T) {
	order := []string{
		"Namespace", "ServiceAccount", "ClusterRole", "RoleBinding", "Service",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	}
	for i := range order[1:] {
		if rank(order[i]) >= rank(order[i+1]) {
			t.Errorf("%s does not come before %s", order[i], order[i+1])
		}
	}
	for _, judge := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		if rank(judge) <= rank("Anything") {
			t.Errorf("%s does not come after what it judges", judge)
		}
	}
}
