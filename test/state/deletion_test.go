package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// TestDeletion_Foreground: the collector takes the namespace first, and the TeamSpace
// waits for it. The record does not.
func TestDeletion_Foreground(t *testing.T) {
	w := lab.World(t)
	ts := w.Serve(t, world.TeamSpace("foreground", 2, "1"))
	inside := resident(ts.Name)
	w.Create(t, inside)
	deleteWith(t, w, ts, metav1.DeletePropagationForeground)
	ts = w.AwaitTeamSpace(t, ts.Name, "only the collector's finalizer is left", func(ts *v1alpha1.TeamSpace) bool {
		return slices.Equal(ts.Finalizers, []string{metav1.FinalizerDeleteDependents})
	})
	if !w.Records(t)[string(ts.UID)] {
		t.Error("our finalizer is gone, and there is no record")
	}
	world.Eventually(t, world.CollectorPatience, "the namespace is going", func() error {
		ns := world.TeamNamespace(ts.Name)
		w.Get(t, ns)
		if ns.DeletionTimestamp.IsZero() {
			return errors.New("it is not")
		}
		return nil
	})
	w.Get(t, ts) // as long as the namespace is there
	w.Patch(t, inside, `{"metadata": {"finalizers": null}}`)
	w.AwaitGone(t, ts)
	w.AwaitGone(t, world.TeamNamespace(ts.Name))
}

// TestDeletion_Orphan: the namespace stays, with all that is in it. A new TeamSpace of
// that name does not get it by itself, only from somebody who hands it over.
func TestDeletion_Orphan(t *testing.T) {
	w := lab.World(t)
	ts := w.Serve(t, world.TeamSpace("orphan", 2, "1"))
	before := uidOf(t, w, ts.Name)
	inside := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team-orphan", Name: "data"}}
	w.Create(t, inside)
	deleteWith(t, w, ts, metav1.DeletePropagationOrphan)
	w.AwaitGone(t, ts)
	if !w.Records(t)[string(ts.UID)] {
		t.Error("there is no record")
	}
	ns := world.TeamNamespace(ts.Name)
	w.Get(t, ns)
	if len(ns.OwnerReferences) > 0 || !ns.DeletionTimestamp.IsZero() {
		t.Errorf("the namespace has ownerReferences %v, deletionTimestamp %v, want neither", ns.OwnerReferences, ns.DeletionTimestamp)
	}

	w.Create(t, world.TeamSpace("orphan", 3, "1"))
	w.AwaitCondition(t, "orphan", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNamespaceConflict)
	w.Get(t, ns)
	if len(ns.OwnerReferences) > 0 {
		t.Errorf("the namespace was adopted by nobody's leave: %v", ns.OwnerReferences)
	}
	w.MustKubectl(t, "annotate", "namespace", ns.Name, "platform.labhub.io/adopt=orphan")
	again := w.AwaitReady(t, "orphan")
	w.Get(t, ns)
	w.Get(t, inside)
	if ns.UID != before || len(ns.OwnerReferences) != 1 || ns.OwnerReferences[0].UID != again.UID {
		t.Errorf("uid %s, before %s, ownerReferences %v, want that of %s", ns.UID, before, ns.OwnerReferences, again.UID)
	}
}

// TestStuck_NamedInAnEventAndCounted: a namespace that somebody else's finalizer holds is
// in the metrics, and an event says which finalizer it is. Nobody takes it away.
func TestStuck_NamedInAnEventAndCounted(t *testing.T) {
	for name, tc := range map[string]struct {
		hold func(*testing.T, *world.World, string) client.Object
		// propagation decides whether the TeamSpace waits for the namespace.
		propagation metav1.DeletionPropagation
		want        []string
	}{
		"by a finalizer of its own": {
			hold: func(t *testing.T, w *world.World, name string) client.Object {
				ns := world.TeamNamespace(name)
				w.Patch(t, ns, `{"metadata": {"finalizers": ["`+held+`"]}}`)
				return ns
			},
			propagation: metav1.DeletePropagationBackground, want: []string{"the namespace itself", held},
		},
		"by that of something in it": {
			hold: func(t *testing.T, w *world.World, name string) client.Object {
				inside := resident(name)
				w.Create(t, inside)
				return inside
			},
			propagation: metav1.DeletePropagationForeground, want: []string{held + " in 1 resource instances", "configmaps. has 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := lab.World(t)
			ts := w.Serve(t, world.TeamSpace("stuck-"+strings.ToLower(string(tc.propagation)), 2, "1"))
			// Those of other tests may still be on their way.
			awaitTerminating(t, w, 0, world.CollectorPatience)
			holder := tc.hold(t, w, ts.Name)
			deleteWith(t, w, ts, tc.propagation)
			event := awaitStuck(t, w, "Namespace", v1alpha1.NamespaceFor(ts.Name), tc.want)
			if event.Type != corev1.EventTypeWarning {
				t.Errorf("the event is %s, want a Warning", event.Type)
			}
			if tc.propagation == metav1.DeletePropagationForeground {
				awaitStuck(t, w, "TeamSpace", ts.Name, tc.want)
			}
			awaitTerminating(t, w, 1, world.Patience)
			w.Get(t, holder)
			if !slices.Contains(holder.GetFinalizers(), held) {
				t.Errorf("finalizers %q, want that of somebody else still there", holder.GetFinalizers())
			}
			w.Patch(t, holder, `{"metadata": {"finalizers": null}}`)
			w.AwaitGone(t, world.TeamNamespace(ts.Name))
			w.AwaitGone(t, ts)
			awaitTerminating(t, w, 0, world.Patience)
		})
	}
}

// awaitTerminating waits until so many namespaces are counted that have been Terminating
// for too long.
func awaitTerminating(t *testing.T, w *world.World, want float64, within time.Duration) {
	t.Helper()
	world.Eventually(t, within, fmt.Sprintf("%v namespaces are counted", want), func() error {
		if got := w.Metric(t, "teamspace_namespaces_terminating"); got != want {
			return fmt.Errorf("%v are", got)
		}
		return nil
	})
}

// awaitStuck returns an event about an object that names all of what is wanted.
func awaitStuck(t *testing.T, w *world.World, kind, name string, want []string) (found eventsv1.Event) {
	t.Helper()
	world.Eventually(t, world.Patience, fmt.Sprintf("an event about %s %q names %q", kind, name, want), func() error {
		var list eventsv1.EventList
		if err := w.Client.List(t.Context(), &list); err != nil {
			return err
		}
		var notes []string
		for _, event := range list.Items {
			if event.Reason != v1alpha1.ReasonNamespaceStuck || event.Regarding.Kind != kind || event.Regarding.Name != name {
				continue
			}
			if !slices.ContainsFunc(want, func(word string) bool { return !strings.Contains(event.Note, word) }) {
				found = event
				return nil
			}
			notes = append(notes, event.Note)
		}
		return fmt.Errorf("there are %d: %q", len(notes), notes)
	})
	return found
}
