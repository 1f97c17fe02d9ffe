package chart

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"labhub.io/teamspace/test/helm"
)

// TestDrain_MayRemoveAll: the hook's account may delete everything of the chart by which requests
// are judged; one that it did not name would be left behind, since helm deletes it later only if
// the uninstallation gets so far.
func TestDrain_MayRemoveAll(t *testing.T) {
	judges := map[string]string{ // the resource of each kind
		"ValidatingWebhookConfiguration":   "validatingwebhookconfigurations",
		"MutatingWebhookConfiguration":     "mutatingwebhookconfigurations",
		"ValidatingAdmissionPolicy":        "validatingadmissionpolicies",
		"ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
	}
	var role rbacv1.ClusterRole
	var want []string
	for _, object := range helm.Objects(t, helm.Template(t)) {
		if resource, is := judges[object.GetKind()]; is {
			want = append(want, resource+"/"+object.GetName())
		}
		if object.GetKind() == "ClusterRole" && object.GetAnnotations()["helm.sh/hook"] == "pre-delete" {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
				t.Fatal(err)
			}
		}
	}
	var got []string
	for _, rule := range role.Rules {
		if !slices.Contains(rule.APIGroups, "admissionregistration.k8s.io") {
			continue
		}
		for _, resource := range rule.Resources {
			for _, name := range rule.ResourceNames {
				got = append(got, resource+"/"+name)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("the hook may delete\n%q\nand the chart has\n%q", got, want)
	}
}
