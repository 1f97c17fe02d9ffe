package outage

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// work is what a manager has to see to while something fails: TeamSpaces that are new,
// changed, deleted, and one whose quota somebody takes away.
type work struct {
	name    string
	deleted *v1alpha1.TeamSpace
	uids    map[string]types.UID // of the namespaces that were there before
}

// prepare serves those that are there before.
func prepare(t *testing.T, w *world.World, name string) *work {
	t.Helper()
	k := &work{name: name, uids: map[string]types.UID{}}
	for _, part := range []string{"changed", "deleted", "drifted"} {
		ts := w.Serve(t, world.TeamSpace(k.of(part), 2, "1"))
		w.Create(t, k.content(part))
		ns := world.TeamNamespace(ts.Name)
		w.Get(t, ns)
		k.uids[part] = ns.UID
		if part == "deleted" {
			k.deleted = ts
		}
	}
	return k
}

func (k *work) of(part string) string { return k.name + "-" + part }

// content is something of a team's own.
func (k *work) content(part string) *corev1.ConfigMap {
	content := &corev1.ConfigMap{}
	content.Namespace, content.Name = v1alpha1.NamespaceFor(k.of(part)), "data"
	return content
}

// ask asks for all of it.
func (k *work) ask(t *testing.T, w *world.World) {
	t.Helper()
	w.Create(t, world.TeamSpace(k.of("new"), 2, "1"))
	w.Patch(t, world.TeamSpace(k.of("changed"), 0, ""), `{"spec": {"pods": 7}}`)
	w.Delete(t, world.TeamSpace(k.of("deleted"), 0, ""))
	w.Delete(t, world.Quota(k.of("drifted")))
}

// awaitDone waits until all of it is done, and looks for what must not be lost.
func (k *work) awaitDone(t *testing.T, w *world.World) {
	t.Helper()
	for part, pods := range map[string]int64{"new": 2, "changed": 7, "drifted": 2} {
		w.AwaitReady(t, k.of(part))
		world.Eventually(t, world.Patience, "the quota is as declared", func() error {
			quota := world.Quota(k.of(part))
			if err := w.Client.Get(t.Context(), types.NamespacedName{Namespace: quota.Namespace, Name: quota.Name}, quota); err != nil {
				return err
			}
			if got := quota.Spec.Hard.Pods().Value(); got != pods {
				return fmt.Errorf("%q has a quota of %d pods, want %d", part, got, pods)
			}
			return nil
		})
	}
	for _, part := range []string{"changed", "drifted"} {
		ns := world.TeamNamespace(k.of(part))
		w.Get(t, ns)
		w.Get(t, k.content(part))
		if ns.UID != k.uids[part] || !ns.DeletionTimestamp.IsZero() {
			t.Errorf("namespace %q: uid %s, deletionTimestamp %v, want the same as before, %s", ns.Name, ns.UID, ns.DeletionTimestamp, k.uids[part])
		}
	}
	w.AwaitGone(t, world.TeamSpace(k.of("deleted"), 0, ""))
	if !w.Records(t)[string(k.deleted.UID)] {
		t.Errorf("there is no record of %q", k.deleted.Name)
	}
	w.AwaitGone(t, world.TeamNamespace(k.of("deleted")))
}
