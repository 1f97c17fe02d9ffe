package stuck

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/oracle/live"
	"labhub.io/teamspace/test/world"
)

// lab lets everything in that a cluster without the guard would, and its audit log holds
// what an administrator keeps who has read about this.
var lab = &world.Shared{
	Options: world.Options{Flags: []string{
		"--set=guard.mode=off", "--set=policies.enabled=false", "--audit-policy=" + filepath.Join("testdata", "audit-policy.json"),
	}},
	Prepare: prepare,
}

func TestMain(m *testing.M) { lab.Run(m) }

// site is the type of the ownership lab.
var site = live.Definition{Group: "own.labhub.io", Kind: "Site", Namespaced: true, Versions: []live.Version{{Name: "v1"}}}

func prepare(ctx context.Context, w *world.World) error {
	cluster, err := live.New(w.Admin)
	if err != nil {
		return err
	}
	for _, d := range append(live.Definitions(), site) {
		if err := cluster.Define(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// create creates an object of the kind, as the changes leave it, and ends it with the test:
// whatever holds it is taken off.
func create(t *testing.T, w *world.World, apiVersion, kind, namespace, name string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	for _, c := range change {
		c(o)
	}
	world.Eventually(t, world.Patience, "creating "+kind+" "+name, func() error { return w.Client.Create(t.Context(), o.DeepCopy()) })
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil && client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, w, o) })
	return o
}

// remove ends what a test has left.
func remove(t *testing.T, w *world.World, o client.Object) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	free := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := w.Client.Patch(ctx, o, free); client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
		t.Error(err)
	}
	err := w.Client.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
		t.Error(err)
	}
}

func widget(t *testing.T, w *world.World, namespace, name string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	t.Helper()
	return create(t, w, "acme.example/v1", "Widget", namespace, name, change...)
}

func held(finalizers ...string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) { o.SetFinalizers(finalizers) }
}

// blocking gives an object a reference with blockOwnerDeletion.
func blocking(owner *unstructured.Unstructured) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		block := true
		o.SetOwnerReferences(append(o.GetOwnerReferences(), metav1.OwnerReference{
			APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(), BlockOwnerDeletion: &block,
		}))
	}
}

// field sets a field of an object.
func field(value any, path ...string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
			panic(err)
		}
	}
}

// namespace creates a namespace that goes with the test.
func namespace(t *testing.T, w *world.World, name string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.Create(t, ns)
	t.Cleanup(func() { remove(t, w, ns) })
	return name
}

// deleteWith deletes without waiting.
func deleteWith(t *testing.T, w *world.World, cascade string, words ...string) {
	t.Helper()
	w.MustKubectl(t, append([]string{"delete", "--wait=false", "--cascade=" + cascade}, words...)...)
}

// awaitExplained polls until the explanation of a stuck object has all the words, since
// conditions and the collector take their time.
func awaitExplained(t *testing.T, w *world.World, words []string, args ...string) {
	t.Helper()
	var out string
	world.Eventually(t, world.CollectorPatience, "explaining "+strings.Join(args, " "), func() error {
		report := w.Plugin(t, append([]string{"explain"}, args...)...)
		out = report.Out
		if report.Code != 1 {
			return fmt.Errorf("exit code %d, want 1\n%s%s", report.Code, report.Out, report.Err)
		}
		return lacks(out, words)
	})
	for _, never := range []string{"/finalize", "spec.finalizers"} {
		if strings.Contains(out, never) {
			t.Errorf("the explanation speaks of %s:\n%s", never, out)
		}
	}
}

func lacks(text string, words []string) error {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return fmt.Errorf("%q is not in\n%s", word, text)
		}
	}
	return nil
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// copyLog keeps what the log holds now, as somebody does who takes it home.
func copyLog(t *testing.T, w *world.World) string {
	t.Helper()
	text, err := os.ReadFile(w.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
