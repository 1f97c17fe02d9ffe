package conflict

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// inUse is how many TeamSpaces there are when the type is removed.
const inUse = 10

// TestTypeRemoved_NamespacesOutliveIt: deleting the type deletes every TeamSpace, but
// no team loses its data, whether or not a manager runs at that moment. It has a world
// of its own.
func TestTypeRemoved_NamespacesOutliveIt(t *testing.T) {
	w := world.Start(t, world.Options{})
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.CRDName}}
	w.Get(t, crd)
	before := fill(t, w)
	t.Run("while the manager runs", func(t *testing.T) {
		w.Delete(t, crd.DeepCopy())
		checkRemoved(t, w, crd, before)
	})
	applyAgain(t, w, crd)
	checkAdoptedAgain(t, w, before)
	t.Run("while the manager is stopped", func(t *testing.T) {
		w.Stop(t, world.Manager)
		w.Delete(t, crd.DeepCopy())
		world.Never(t, 2*time.Second, "nothing goes while nobody archives it", func() error {
			var list v1alpha1.TeamSpaceList
			if err := w.Client.List(t.Context(), &list); err != nil || len(list.Items) != inUse {
				return fmt.Errorf("%d TeamSpaces are left, want %d: %w", len(list.Items), inUse, err)
			}
			return nil
		})
		w.Start(t, world.Manager)
		checkRemoved(t, w, crd, before)
	})
	applyAgain(t, w, crd)
	checkAdoptedAgain(t, w, before)
}

// fill serves the TeamSpaces, and gives each something to lose.
func fill(t *testing.T, w *world.World) map[string]*corev1.Namespace {
	t.Helper()
	before := map[string]*corev1.Namespace{}
	for i := range inUse {
		name := fmt.Sprintf("in-use-%d", i)
		ts := w.Serve(t, world.TeamSpace(name, 4, "1"))
		w.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ts.Status.Namespace, Name: "data"}})
		ns := world.TeamNamespace(name)
		w.Get(t, ns)
		before[name] = ns
	}
	return before
}

// checkRemoved waits for the end of the type, and compares what outlives it with what was
// there before. A collector that looks at everything anew spares it too.
func checkRemoved(t *testing.T, w *world.World, crd *apiextensionsv1.CustomResourceDefinition, before map[string]*corev1.Namespace) {
	t.Helper()
	w.AwaitGone(t, crd.DeepCopy())
	for name, was := range before {
		checkReleased(t, w, name, was)
		if _, err := os.Stat(filepath.Join(w.ArchiveDir, name+".json")); err != nil {
			t.Errorf("no record: %v", err)
		}
	}
	w.Restart(t, world.ControllerManager)
	settledCollector(t, w)
	for name, was := range before {
		checkReleased(t, w, name, was)
	}
}

// checkAdoptedAgain makes the TeamSpaces again, which get back what was theirs.
func checkAdoptedAgain(t *testing.T, w *world.World, before map[string]*corev1.Namespace) {
	t.Helper()
	for name := range before {
		serveAgain(t, w, name)
	}
	for name, was := range before {
		checkAdopted(t, w, w.AwaitReady(t, name), was)
		data := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: was.Name, Name: "data"}}
		w.Get(t, data)
	}
}

// checkReleased looks for the same namespace, which belongs to nobody and can be
// adopted by that name.
func checkReleased(t *testing.T, w *world.World, name string, was *corev1.Namespace) {
	t.Helper()
	ns := world.TeamNamespace(name)
	w.Get(t, ns)
	if ns.UID != was.UID || !ns.DeletionTimestamp.IsZero() {
		t.Errorf("namespace %s: uid %s, deletionTimestamp %v, want the same as before, %s", ns.Name, ns.UID, ns.DeletionTimestamp, was.UID)
	}
	if len(ns.OwnerReferences) > 0 || ns.Annotations[v1alpha1.AnnotationAdopt] != name {
		t.Errorf("namespace %s: ownerReferences %v, annotations %v, want no reference and adoptable by %s", ns.Name, ns.OwnerReferences, ns.Annotations, name)
	}
}

// settledCollector waits until the collector has worked: it deletes what was made
// after the last look to be deleted, where no guard keeps anybody from making it.
func settledCollector(t *testing.T, w *world.World) {
	t.Helper()
	unguarded := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "unguarded-", Labels: map[string]string{v1alpha1.LabelGuardMode: "off"}}}
	w.Create(t, unguarded)
	doomed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: unguarded.Name, Name: "doomed", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "absent", UID: "00000000-0000-0000-0000-000000000000"},
	}}}
	world.Eventually(t, world.Patience, "the label of the namespace counts", func() error { return w.Client.Create(t.Context(), doomed) })
	w.AwaitGone(t, doomed)
}

// applyAgain makes the type as it was.
func applyAgain(t *testing.T, w *world.World, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	w.Create(t, &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: crd.Name, Labels: crd.Labels, Annotations: crd.Annotations},
		Spec:       crd.Spec,
	})
	w.MustKubectl(t, "wait", "crd/"+crd.Name, "--for=condition=Established", "--timeout=30s")
}

// serveAgain creates a TeamSpace as soon as the API server serves the type everywhere.
func serveAgain(t *testing.T, w *world.World, name string) {
	t.Helper()
	world.Eventually(t, world.Patience, fmt.Sprintf("TeamSpace %q is created", name), func() error {
		return client.IgnoreAlreadyExists(w.Client.Create(t.Context(), world.TeamSpace(name, 4, "1")))
	})
}
