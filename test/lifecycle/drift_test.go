package lifecycle

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/world"
)

// awaitNewUID waits until an object is there again, as another one.
func awaitNewUID(t *testing.T, w *world.World, object client.Object, old types.UID) {
	t.Helper()
	world.Eventually(t, world.Patience, fmt.Sprintf("%T is made again", object), func() error {
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		if object.GetUID() == old {
			return fmt.Errorf("it still has the uid %s", old)
		}
		return nil
	})
}

func TestDrift_DeletedIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	w.Serve(t, world.TeamSpace("deleted", 4, "1"))
	for _, object := range []client.Object{world.Quota("deleted"), world.LimitRange("deleted")} {
		w.Get(t, object)
		old := object.GetUID()
		w.Delete(t, object)
		awaitNewUID(t, w, object, old)
	}
	awaitSpecs(t, w, "deleted", declared("4", "1"), share("250m"))
	w.AwaitReady(t, "deleted")
}

func TestDrift_EditedIsPutBack(t *testing.T) {
	w := lab.World(t)
	for name, tc := range map[string]struct {
		teamSpace, quota, limits string // merge patches
	}{
		"a quota of 99 pods":              {teamSpace: "edited-1", quota: `{"spec": {"hard": {"pods": "99"}}}`},
		"a quota of more cpu":             {teamSpace: "edited-2", quota: `{"spec": {"hard": {"requests.cpu": "1001m"}}}`},
		"a quota without pods":            {teamSpace: "edited-3", quota: `{"spec": {"hard": {"pods": null}}}`},
		"a quota without anything":        {teamSpace: "edited-4", quota: `{"spec": {"hard": null}}`},
		"a quota of another resource too": {teamSpace: "edited-5", quota: `{"spec": {"hard": {"configmaps": "1", "requests.memory": "1Gi"}}}`},
		"a LimitRange of a larger share":  {teamSpace: "edited-6", limits: `{"spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "900m"}}]}}`},
		"a LimitRange with a maximum too": {teamSpace: "edited-7", limits: `{"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}, "defaultRequest": {"cpu": "250m"}}, {"type": "Pod", "max": {"cpu": "1"}}]}}`},
		"a LimitRange without anything":   {teamSpace: "edited-8", limits: `{"spec": {"limits": []}}`},
		"a label of the namespace too":    {teamSpace: "edited-9", quota: `{"metadata": {"labels": {"a": "b"}}, "spec": {"hard": {"pods": "1"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.Serve(t, world.TeamSpace(tc.teamSpace, 4, "1"))
			quota, limits := world.Quota(tc.teamSpace), world.LimitRange(tc.teamSpace)
			w.Get(t, quota)
			w.Get(t, limits)
			uids := []types.UID{quota.UID, limits.UID}
			if tc.quota != "" {
				w.Patch(t, quota, tc.quota)
			}
			if tc.limits != "" {
				w.Patch(t, limits, tc.limits)
			}
			awaitSpecs(t, w, tc.teamSpace, declared("4", "1"), share("250m"))
			w.AwaitReady(t, tc.teamSpace)
			w.Get(t, quota)
			w.Get(t, limits)
			if diff := cmp.Diff(uids, []types.UID{quota.UID, limits.UID}); diff != "" {
				t.Errorf("made again although it could be repaired, uids (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDrift_NamespaceDeletedByHandComesBack(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ts := w.Serve(t, world.TeamSpace("by-hand", 4, "1"))
	ns := world.TeamNamespace("by-hand")
	w.Get(t, ns)
	old := ns.UID
	w.Patch(t, ns, `{"metadata": {"annotations": {"platform.labhub.io/allow-delete": "true"}}}`)
	w.Delete(t, ns)
	world.Eventually(t, world.CollectorPatience, "another namespace is there", func() error {
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(ns), ns); err != nil {
			return err
		}
		if ns.UID == old {
			return fmt.Errorf("it is still the old one, %s", ns.Status.Phase)
		}
		return nil
	})
	if diff := cmp.Diff(ownedBy(ts), ns.OwnerReferences); diff != "" || ns.Status.Phase != corev1.NamespaceActive {
		t.Errorf("phase %s, ownerReferences (-want +got):\n%s", ns.Status.Phase, diff)
	}
	w.AwaitReady(t, "by-hand")
	awaitSpecs(t, w, "by-hand", declared("4", "1"), share("250m"))
}

// A scope cannot be added to a quota, only made with it: somebody deletes the quota
// and is faster than the controller.
func TestDrift_QuotaMadeWithAScope(t *testing.T) {
	w := lab.World(t)
	w.Serve(t, world.TeamSpace("scoped", 4, "1"))
	w.Stop(t, world.Manager)
	quota := world.Quota("scoped")
	w.Delete(t, quota)
	*quota = *world.Quota("scoped")
	quota.Spec = declared("4", "1")
	quota.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotTerminating}
	w.Create(t, quota)
	old := quota.UID
	w.Start(t, world.Manager)
	awaitNewUID(t, w, quota, old)
	awaitSpecs(t, w, "scoped", declared("4", "1"), share("250m"))
	w.AwaitReady(t, "scoped")
}

func TestDrift_QuotaWithASelectorWhileTheManagerRuns(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	w.Serve(t, world.TeamSpace("selected", 4, "1"))
	made := false
	world.Eventually(t, world.Patience, "an administrator is faster than the controller", func() error {
		quota := world.Quota("selected")
		if err := w.Client.Delete(t.Context(), quota); client.IgnoreNotFound(err) != nil {
			return err
		}
		*quota = *world.Quota("selected")
		quota.Spec = declared("99", "1")
		quota.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
			{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpExists},
		}}
		err := w.Client.Create(t.Context(), quota)
		made = err == nil
		return err
	})
	if made {
		awaitSpecsOfAny(t, w)
	}
}

// awaitSpecsOfAny waits for the quota of "selected" through the moments in which it
// is not there.
func awaitSpecsOfAny(t *testing.T, w *world.World) {
	t.Helper()
	world.Eventually(t, world.Patience, "the quota is as declared", func() error {
		quota := world.Quota("selected")
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		if diff := cmp.Diff(declared("4", "1"), quota.Spec, semantic); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
	w.AwaitReady(t, "selected")
}
