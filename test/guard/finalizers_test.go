package guard

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

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
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "teamspace-controller"}}
	w.Get(t, role)
	whole := role.DeepCopy().Rules
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "teamspaces/finalizers") })
	if err := w.Client.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	defer func() {
		role.Rules = whole
		if err := w.Client.Update(t.Context(), role); err != nil {
			t.Error(err)
		}
	}()
	world.Eventually(t, world.Patience, "it is refused without the permission", func() error {
		if err := claim(); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "blockOwnerDeletion") {
			return errors.Join(errors.New("it is not"), err)
		}
		return nil
	})
}
