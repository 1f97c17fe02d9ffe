package storm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

const (
	teamSpaces = 200
	deletions  = 50
	kills      = 20

	// A manager lives for at most so many changes of TeamSpaces, and for so long where
	// there are none.
	longestLife = 30
	idleLife    = 5 * time.Second

	// theirs is the finalizer of somebody else on each TeamSpace.
	theirs = "storm.example.com/theirs"

	// deadline is for those who wait while the manager is killed.
	deadline = 3 * time.Minute
)

// TestStorm_ManagerKilledAgainAndAgain: 200 TeamSpaces are made at once, and 50 of them
// deleted, while the manager is killed twenty times. All come to rest, nobody's finalizer
// is lost, and none goes without its record.
func TestStorm_ManagerKilledAgainAndAgain(t *testing.T) {
	w := lab.World(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	changes := watchChanges(t, w)
	var others sync.WaitGroup
	others.Go(func() { makeAll(t, w) })
	others.Go(func() { deleteSome(t, w) })
	began := time.Now()
	atWork := killAgainAndAgain(t, w, changes, rand.New(rand.NewPCG(seed, 0)))
	t.Logf("killed %d times in %s, %d of them while it wrote", kills, time.Since(began).Round(time.Second), atWork)
	w.Start(t, world.Manager)
	others.Wait()
	if t.Failed() {
		return
	}

	uids := awaitRest(t, w)
	records := w.Records(t)
	for name, uid := range uids {
		if !records[uid] {
			t.Errorf("there is no record of %q, which was deleted", name)
		}
	}
	if len(uids) != deletions || len(records) != deletions {
		t.Errorf("%d were deleted and %d records are there, want %d of each", len(uids), len(records), deletions)
	}
	checkNamespaces(t, w)
	release(t, w, uids)
}

// watchChanges counts what happens to TeamSpaces from now on.
func watchChanges(t *testing.T, w *world.World) <-chan watch.Event {
	t.Helper()
	watched, err := w.Client.Watch(t.Context(), &v1alpha1.TeamSpaceList{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watched.Stop)
	return watched.ResultChan()
}

func nameOf(i int) string { return fmt.Sprintf("storm-%03d", i) }

// isDeleted says which ones are deleted: every fourth.
func isDeleted(i int) bool { return i%(teamSpaces/deletions) == 0 }

func makeAll(t *testing.T, w *world.World) {
	const hands = 8
	var all sync.WaitGroup
	for hand := range hands {
		all.Go(func() {
			for i := hand; i < teamSpaces; i += hands {
				ts := world.TeamSpace(nameOf(i), int32(i%50+1), "1")
				ts.Finalizers = []string{theirs}
				if err := w.Client.Create(t.Context(), ts); err != nil {
					t.Errorf("creating %q: %v", ts.Name, err)
				}
			}
		})
	}
	all.Wait()
}

// deleteSome deletes a TeamSpace as soon as it is held by our finalizer: before that, it
// has nothing that could be lost.
func deleteSome(t *testing.T, w *world.World) {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	left := map[string]bool{}
	for i := range teamSpaces {
		if isDeleted(i) {
			left[nameOf(i)] = true
		}
	}
	for len(left) > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Errorf("%d TeamSpaces never had our finalizer", len(left))
			return
		}
		var list v1alpha1.TeamSpaceList
		if err := w.Client.List(ctx, &list); err != nil {
			t.Error(err)
			return
		}
		for _, ts := range list.Items {
			if !left[ts.Name] || !slices.Contains(ts.Finalizers, v1alpha1.Finalizer) {
				continue
			}
			if err := w.Client.Delete(ctx, &ts); err != nil {
				t.Error(err)
				return
			}
			delete(left, ts.Name)
		}
	}
}

// killAgainAndAgain kills the manager after a random number of changes, whatever it is
// doing then, whether it leads already or not, and returns how often it was at work. Its
// lease is taken away with it, as if the time had passed that a standby waits for.
func killAgainAndAgain(t *testing.T, w *world.World, changes <-chan watch.Event, chance *rand.Rand) (atWork int) {
	ctx, cancel := context.WithCancel(t.Context())
	var starts sync.WaitGroup
	defer starts.Wait()
	defer cancel()
	for killed := 0; killed < kills; {
		worked := live(t, changes, 1+chance.IntN(longestLife))
		if w.Kill(t, world.Manager) {
			killed++
			if worked {
				atWork++
			}
		}
		lease := &coordinationv1.Lease{}
		lease.Namespace, lease.Name = world.ReleaseNamespace, world.LeaseName
		if err := w.Client.Delete(t.Context(), lease); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		// The next kill may come before it serves, which is an error of the start alone.
		starts.Go(func() { _ = w.TryStart(ctx, world.Manager) })
	}
	return atWork
}

// live returns after so many changes, which are the manager's but for the deletions, and
// true; or false when there are none for a while.
func live(t *testing.T, changes <-chan watch.Event, count int) bool {
	idle := time.NewTimer(idleLife)
	defer idle.Stop()
	for count > 0 {
		select {
		case change, open := <-changes:
			if !open {
				t.Fatal("the watch has ended")
			}
			if change.Type == watch.Modified {
				count--
			}
		case <-idle.C:
			return false
		}
	}
	return true
}

// awaitRest waits until every TeamSpace is served or let go, and returns the uids of
// those that were let go, by name. None is gone: the finalizer of somebody else holds it.
func awaitRest(t *testing.T, w *world.World) map[string]string {
	t.Helper()
	uids := map[string]string{}
	began := time.Now()
	for i := range teamSpaces {
		ts := w.AwaitTeamSpace(t, nameOf(i), "it is served or let go", func(ts *v1alpha1.TeamSpace) bool { return atRest(ts) == nil })
		if !ts.DeletionTimestamp.IsZero() {
			uids[ts.Name] = string(ts.UID)
		}
	}
	t.Logf("all at rest %s after the last start", time.Since(began).Round(time.Millisecond))
	var list v1alpha1.TeamSpaceList
	if err := w.Client.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	for _, ts := range list.Items {
		if err := atRest(&ts); err != nil {
			t.Errorf("it was at rest before: %v", err)
		}
	}
	return uids
}

// atRest returns nil if the manager has nothing more to do. Somebody else's finalizer is
// there, first as it was; ours is there exactly while the TeamSpace lives.
func atRest(ts *v1alpha1.TeamSpace) error {
	want := []string{theirs, v1alpha1.Finalizer}
	done := world.IsReady(ts)
	if !ts.DeletionTimestamp.IsZero() {
		want = []string{theirs}
		done = meta.IsStatusConditionTrue(ts.Status.Conditions, v1alpha1.ConditionArchived)
	}
	if !done || !slices.Equal(ts.Finalizers, want) {
		return fmt.Errorf("TeamSpace %q: deletionTimestamp %v, finalizers %q, conditions %+v", ts.Name, ts.DeletionTimestamp, ts.Finalizers, ts.Status.Conditions)
	}
	return nil
}

// checkNamespaces compares what every living TeamSpace has with what it should have.
func checkNamespaces(t *testing.T, w *world.World) {
	t.Helper()
	for i := range teamSpaces {
		if isDeleted(i) {
			continue
		}
		ts := world.TeamSpace(nameOf(i), 0, "")
		ns, quota, limits := world.TeamNamespace(ts.Name), world.Quota(ts.Name), world.LimitRange(ts.Name)
		for _, object := range []client.Object{ts, ns, quota, limits} {
			w.Get(t, object)
		}
		if len(ns.OwnerReferences) != 1 || ns.OwnerReferences[0].UID != ts.UID || ns.Status.Phase != corev1.NamespaceActive {
			t.Errorf("namespace %q: %s, ownerReferences %+v", ns.Name, ns.Status.Phase, ns.OwnerReferences)
		}
		if got := quota.Spec.Hard.Pods().Value(); got != int64(ts.Spec.Pods) {
			t.Errorf("namespace %q: a quota of %d pods, want %d", ns.Name, got, ts.Spec.Pods)
		}
	}
}

// release lets those go that only somebody else still holds. The collector then takes
// their namespaces, and no others.
func release(t *testing.T, w *world.World, uids map[string]string) {
	t.Helper()
	for name := range uids {
		w.Patch(t, world.TeamSpace(name, 0, ""), `{"metadata": {"finalizers": null}}`)
	}
	for name := range uids {
		world.Eventually(t, world.CollectorPatience, "the namespace goes", func() error {
			ns := world.TeamNamespace(name)
			err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(ns), ns)
			if err == nil && ns.DeletionTimestamp.IsZero() {
				return fmt.Errorf("namespace %q is still there", ns.Name)
			}
			return client.IgnoreNotFound(err)
		})
	}
	var list corev1.NamespaceList
	if err := w.Client.List(t.Context(), &list, client.HasLabels{v1alpha1.LabelTeamSpace}); err != nil {
		t.Fatal(err)
	}
	left := slices.DeleteFunc(list.Items, func(ns corev1.Namespace) bool { return !ns.DeletionTimestamp.IsZero() })
	if len(left) != teamSpaces-deletions {
		t.Errorf("%d namespaces are left, want %d", len(left), teamSpaces-deletions)
	}
}
