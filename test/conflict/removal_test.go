package conflict

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// TestTypeRemoved_NamespacesOutliveIt: deleting the type deletes every TeamSpace, but
// no team loses its data. It has a world of its own.
func TestTypeRemoved_NamespacesOutliveIt(t *testing.T) {
	w := world.Start(t, world.Options{})
	before := map[string]*corev1.Namespace{}
	for _, name := range []string{"one", "two"} {
		ts := w.Serve(t, world.TeamSpace(name, 4, "1"))
		w.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ts.Status.Namespace, Name: "data"}})
		ns := world.TeamNamespace(name)
		w.Get(t, ns)
		before[name] = ns
	}
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.CRDName}}
	w.Get(t, crd)
	w.Delete(t, crd.DeepCopy())
	w.AwaitGone(t, crd.DeepCopy())
	for name, was := range before {
		checkReleased(t, w, name, was)
		if _, err := os.Stat(filepath.Join(w.ArchiveDir, name+".json")); err != nil {
			t.Errorf("no record: %v", err)
		}
	}

	// A collector that looks at everything anew spares them too.
	w.Restart(t, world.ControllerManager)
	settledCollector(t, w)
	for name, was := range before {
		checkReleased(t, w, name, was)
	}

	applyAgain(t, w, crd)
	for name, was := range before {
		serveAgain(t, w, name)
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
	w.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "unguarded", Labels: map[string]string{v1alpha1.LabelGuardMode: "off"}}})
	doomed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "unguarded", Name: "doomed", OwnerReferences: []metav1.OwnerReference{
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
