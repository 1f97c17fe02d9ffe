package state

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// scenarios bring a TeamSpace into a state of the page, in which it stays until the end
// of the test.
var scenarios = map[string]func(t *testing.T, w *world.World, name string){
	"New": func(t *testing.T, w *world.World, name string) {
		w.Stop(t, world.Manager)
		w.Create(t, world.TeamSpace(name, 2, "1"))
	},
	"Progressing": func(t *testing.T, w *world.World, name string) {
		hinder(t, w, name)
		w.Create(t, world.TeamSpace(name, 2, "1"))
	},
	"AwaitingQuotaController": func(t *testing.T, w *world.World, name string) {
		w.Stop(t, world.ControllerManager)
		w.Create(t, world.TeamSpace(name, 2, "1"))
	},
	"Serving": func(t *testing.T, w *world.World, name string) { w.Serve(t, world.TeamSpace(name, 2, "1")) },
	"Changed": func(t *testing.T, w *world.World, name string) {
		ts := w.Serve(t, world.TeamSpace(name, 2, "1"))
		w.Stop(t, world.Manager)
		w.Patch(t, ts, `{"spec": {"pods": 3}}`)
	},
	"NamespaceTerminating": func(t *testing.T, w *world.World, name string) {
		w.Serve(t, world.TeamSpace(name, 2, "1"))
		ns := world.TeamNamespace(name)
		w.Patch(t, ns, `{"metadata": {"finalizers": ["`+held+`"], "annotations": {"platform.labhub.io/allow-delete": "true"}}}`)
		letGo(t, w, world.TeamNamespace(name))
		w.Delete(t, ns)
	},
	"NamespaceConflict": func(t *testing.T, w *world.World, name string) {
		w.Create(t, world.TeamNamespace(name), world.TeamSpace(name, 2, "1"))
	},
	"ArchiveFailed": func(t *testing.T, w *world.World, name string) {
		ts := w.Serve(t, world.TeamSpace(name, 2, "1"))
		elsewhere := w.ArchiveDir + "-elsewhere"
		if err := os.Rename(w.ArchiveDir, elsewhere); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Rename(elsewhere, w.ArchiveDir); err != nil {
				t.Error(err)
			}
		})
		w.Delete(t, ts)
	},
	"Archived": func(t *testing.T, w *world.World, name string) {
		ts := world.TeamSpace(name, 2, "1")
		ts.Finalizers = []string{held}
		ts = w.Serve(t, ts)
		letGo(t, w, world.TeamSpace(name, 0, ""))
		w.Delete(t, ts)
	},
	"Orphaned": func(t *testing.T, w *world.World, name string) {
		ts := w.Serve(t, world.TeamSpace(name, 2, "1"))
		w.Stop(t, world.ControllerManager) // it is the collector that releases
		deleteWith(t, w, ts, metav1.DeletePropagationOrphan)
		w.AwaitTeamSpace(t, name, "only the collector's finalizer is left", func(ts *v1alpha1.TeamSpace) bool {
			return slices.Equal(ts.Finalizers, []string{metav1.FinalizerOrphanDependents})
		})
	},
}

func deleteWith(t *testing.T, w *world.World, ts *v1alpha1.TeamSpace, propagation metav1.DeletionPropagation) {
	t.Helper()
	if err := w.Client.Delete(t.Context(), ts, client.PropagationPolicy(propagation)); err != nil {
		t.Fatal(err)
	}
}

// hinder keeps everybody from making a LimitRange in the namespace of a TeamSpace, by a
// policy of the API server.
func hinder(t *testing.T, w *world.World, teamSpace string) {
	t.Helper()
	ns := world.TeamNamespace(teamSpace)
	ns.Annotations = map[string]string{v1alpha1.AnnotationAdopt: teamSpace}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "hinder.example.com"}}
	policy.Spec = admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"limitranges"}},
			},
		}}},
		Validations: []admissionregistrationv1.Validation{{Expression: "request.namespace != '" + ns.Name + "'"}},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: policy.Name}}
	binding.Spec.PolicyName = policy.Name
	binding.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}
	w.Create(t, ns, policy, binding)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(w.Client.Delete(ctx, binding), w.Client.Delete(ctx, policy)); err != nil {
			t.Error(err)
		}
	})
	world.Eventually(t, world.Patience, "the policy is in force", func() error {
		err := w.Client.Create(t.Context(), world.LimitRange(teamSpace), client.DryRunAll)
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			return nil
		}
		return errors.Join(errors.New("a LimitRange is accepted"), err)
	})
}

// resident is something in a team's namespace that somebody else holds.
func resident(teamSpace string) *corev1.ConfigMap {
	configMap := &corev1.ConfigMap{}
	configMap.Namespace, configMap.Name, configMap.Finalizers = v1alpha1.NamespaceFor(teamSpace), "held", []string{held}
	return configMap
}

// uidOf is the uid of a namespace that is there.
func uidOf(t *testing.T, w *world.World, teamSpace string) types.UID {
	t.Helper()
	ns := world.TeamNamespace(teamSpace)
	w.Get(t, ns)
	return ns.UID
}
