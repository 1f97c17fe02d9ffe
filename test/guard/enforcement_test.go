package guard

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// takeAway takes a rule from the controller's ClusterRole, and returns what gives it back.
func takeAway(t *testing.T, w *world.World, rule func(rbacv1.PolicyRule) bool) (giveBack func()) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "teamspace-controller"}}
	w.Get(t, role)
	whole := role.DeepCopy().Rules
	set := func(rules []rbacv1.PolicyRule) {
		role.Rules = rules
		if err := w.Client.Update(t.Context(), role); err != nil {
			t.Error(err)
		}
	}
	rest := slices.DeleteFunc(role.DeepCopy().Rules, rule)
	if len(rest) != len(whole)-1 {
		t.Fatalf("%d of %d rules are left, want one less", len(rest), len(whole))
	}
	set(rest)
	return func() { set(whole) }
}

// finalizersNeeded: without that permission the namespace of a TeamSpace could not name
// it as an owner that its deletion has to wait for.
func finalizersNeeded(t *testing.T, w *world.World) {
	ts := w.AwaitReady(t, "strict")
	claim := func() error {
		return w.As(t, world.ManagerUser, "system:authenticated").Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: "team-other", Labels: map[string]string{v1alpha1.LabelTeamSpace: "other"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "TeamSpace", Name: ts.Name, UID: ts.UID, Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		}}, client.DryRunAll)
	}
	if err := claim(); err != nil {
		t.Errorf("with the permission: %v", err)
	}
	defer takeAway(t, w, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "teamspaces/finalizers") })()
	world.Eventually(t, world.Patience, "it is refused without the permission", func() error {
		if err := claim(); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "blockOwnerDeletion") {
			return errors.Join(errors.New("it is not"), err)
		}
		return nil
	})
}

// deletionNeeded: where this plugin is, a namespace is adopted by one who might delete it
// only, and the TeamSpace says that until the permission is there.
func deletionNeeded(t *testing.T, w *world.World) {
	giveBack := takeAway(t, w, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Resources, "namespaces") && slices.Contains(r.Verbs, "delete")
	})
	world.Eventually(t, world.Patience, "the permission is gone", func() error {
		if w.Kubectl(t, "auth", "can-i", "delete", "namespaces", "--as="+world.ManagerUser).Code == 0 {
			return errors.New("it is there")
		}
		return nil
	})
	ns := world.TeamNamespace("adopted")
	ns.Annotations = map[string]string{v1alpha1.AnnotationAdopt: "adopted"}
	w.Create(t, ns, world.TeamSpace("adopted", 2, "1"))
	w.AwaitTeamSpace(t, "adopted", "it says what it may not", func(ts *v1alpha1.TeamSpace) bool {
		c := meta.FindStatusCondition(ts.Status.Conditions, v1alpha1.ConditionReconciling)
		return c != nil && strings.Contains(c.Message, "cannot set an ownerRef on a resource you can't delete")
	})
	giveBack()
	w.AwaitReady(t, "adopted")
}

// typeGoes: there too the teams' namespaces outlive the type, without the references by
// which they would be collected.
func typeGoes(t *testing.T, w *world.World) {
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.CRDName}}
	w.Delete(t, crd)
	w.AwaitGone(t, crd)
	for _, team := range []string{"strict", "adopted"} {
		ns := world.TeamNamespace(team)
		w.Get(t, ns)
		if ns.DeletionTimestamp != nil || len(ns.OwnerReferences) > 0 || ns.Annotations[v1alpha1.AnnotationAdopt] != team {
			t.Errorf("namespace %q: %+v", ns.Name, ns.ObjectMeta)
		}
	}
}
