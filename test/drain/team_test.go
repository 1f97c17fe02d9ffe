package drain

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// many is how many TeamSpaces a cluster has in these tests.
const many = 30

// team is a TeamSpace that was served, and what it had.
type team struct {
	name               string
	uid, namespace, cm types.UID
}

// populate makes teams with something in their namespaces, and waits until all are served.
func populate(t *testing.T, w *world.World, prefix string, count int) []team {
	t.Helper()
	teams := make([]team, count)
	each(teams, func(i int) {
		name := fmt.Sprintf("%s-%02d", prefix, i)
		w.Create(t, world.TeamSpace(name, 2, "1"))
	})
	for i := range teams {
		name := fmt.Sprintf("%s-%02d", prefix, i)
		ts := w.AwaitReady(t, name)
		ns := world.TeamNamespace(name)
		w.Get(t, ns)
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "work"}}
		w.Create(t, cm)
		teams[i] = team{name, ts.UID, ns.UID, cm.UID}
	}
	return teams
}

func each(teams []team, do func(i int)) {
	var all sync.WaitGroup
	for i := range teams {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// wantReleased: the TeamSpace is as it was, without our finalizer, and says that nobody
// keeps it; the namespace is the same and belongs to nobody, and its content is there.
func wantReleased(t *testing.T, w *world.World, teams []team) {
	t.Helper()
	for _, tm := range teams {
		ts := world.TeamSpace(tm.name, 0, "")
		w.Get(t, ts)
		ready := meta.FindStatusCondition(ts.Status.Conditions, v1alpha1.ConditionReady)
		if ts.UID != tm.uid || !ts.DeletionTimestamp.IsZero() || controllerutil.ContainsFinalizer(ts, v1alpha1.Finalizer) || ready.Reason != v1alpha1.ReasonReleased {
			t.Errorf("TeamSpace %q is not released: %+v", tm.name, ts)
		}
		wantNamespaceReleased(t, w, tm)
	}
}

func wantNamespaceReleased(t *testing.T, w *world.World, tm team) {
	t.Helper()
	ns := world.TeamNamespace(tm.name)
	w.Get(t, ns)
	if ns.UID != tm.namespace || !ns.DeletionTimestamp.IsZero() || len(ns.OwnerReferences) > 0 || ns.Annotations[v1alpha1.AnnotationAdopt] != tm.name {
		t.Errorf("namespace %q is not released: %+v", ns.Name, ns.ObjectMeta)
	}
	wantContent(t, w, tm)
}

func wantContent(t *testing.T, w *world.World, tm team) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.NamespaceFor(tm.name), Name: "work"}}
	if w.Get(t, cm); cm.UID != tm.cm {
		t.Errorf("what team %q had in its namespace is not what was there before", tm.name)
	}
}

// wantAdopted: after a new installation every namespace is served, and is the one from
// before.
func wantAdopted(t *testing.T, w *world.World, teams []team) {
	t.Helper()
	for _, tm := range teams {
		ts := w.AwaitReady(t, tm.name)
		ns := world.TeamNamespace(tm.name)
		w.Get(t, ns)
		bound := slices.ContainsFunc(ns.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == ts.UID })
		if _, left := ns.Annotations[v1alpha1.AnnotationAdopt]; ns.UID != tm.namespace || !bound || left {
			t.Errorf("namespace %q is not adopted: %+v", ns.Name, ns.ObjectMeta)
		}
		wantContent(t, w, tm)
	}
}

// wantArchived: the TeamSpace is gone and its record is there.
func wantArchived(t *testing.T, w *world.World, teams []team) {
	t.Helper()
	for _, tm := range teams {
		ts := world.TeamSpace(tm.name, 0, "")
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(ts), ts); !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
			t.Errorf("TeamSpace %q is still there: %v, %+v", tm.name, err, ts.ObjectMeta)
		}
		record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: world.ArchiveNamespace, Name: "teamspace-" + string(tm.uid)}}
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(record), record); err != nil || !strings.Contains(record.Data["record.json"], tm.name) {
			t.Errorf("the record of TeamSpace %q: %v", tm.name, err)
		}
	}
}

// wantCollected: the namespaces go with their TeamSpaces.
func wantCollected(t *testing.T, w *world.World, teams []team) {
	t.Helper()
	for _, tm := range teams {
		w.AwaitGone(t, world.TeamNamespace(tm.name))
	}
}

// wantNothingOfOurs: nothing judges requests any more, and nothing is held by us.
func wantNothingOfOurs(t *testing.T, w *world.World) {
	t.Helper()
	out := w.MustKubectl(t, "get", "-o", "name", "validatingwebhookconfigurations,mutatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings")
	for name := range strings.Lines(out) {
		if strings.Contains(name, "teamspace") || strings.Contains(name, "platform.labhub.io") {
			t.Errorf("%s is still there", strings.TrimSpace(name))
		}
	}
	var all v1alpha1.TeamSpaceList
	if err := w.Client.List(t.Context(), &all); err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
		t.Fatal(err)
	}
	for i := range all.Items {
		if controllerutil.ContainsFinalizer(&all.Items[i], v1alpha1.Finalizer) {
			t.Errorf("TeamSpace %q is still held: %+v", all.Items[i].Name, all.Items[i].ObjectMeta)
		}
	}
}

// cleanUp deletes what a test has left, whatever state it is in, so that the next one
// begins with no TeamSpaces.
func cleanUp(t *testing.T, w *world.World) {
	t.Helper()
	var all v1alpha1.TeamSpaceList
	if err := w.Client.List(t.Context(), &all); err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	for i := range all.Items {
		ts := &all.Items[i]
		w.Patch(t, ts, `{"metadata":{"finalizers":null}}`)
		if err := w.Client.Delete(t.Context(), ts); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
	var namespaces corev1.NamespaceList
	if err := w.Client.List(t.Context(), &namespaces, client.HasLabels{v1alpha1.LabelTeamSpace}); err != nil {
		t.Fatal(err)
	}
	for i := range namespaces.Items {
		if err := w.Client.Delete(t.Context(), &namespaces.Items[i]); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
	world.Eventually(t, world.CollectorPatience, "what the test has left is gone", func() error {
		var namespaces corev1.NamespaceList
		if err := w.Client.List(t.Context(), &namespaces, client.HasLabels{v1alpha1.LabelTeamSpace}); err != nil {
			return err
		}
		if len(namespaces.Items) > 0 {
			return errors.New("there are namespaces")
		}
		return nil
	})
}
