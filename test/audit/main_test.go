package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/oracle/live"
	"labhub.io/teamspace/test/world"
)

// lab is a cluster without the guard, in which the collector stands still: what it would
// delete within milliseconds is there to be found.
var lab = &world.Shared{
	Options: world.Options{Flags: []string{"--set=guard.mode=off"}},
	Prepare: prepare,
}

func TestMain(m *testing.M) { lab.Run(m) }

func prepare(ctx context.Context, w *world.World) error {
	cluster, err := live.New(w.Admin)
	if err != nil {
		return err
	}
	for _, d := range live.Definitions() {
		if err := cluster.Define(ctx, d); err != nil {
			return err
		}
	}
	return w.StopForGood(ctx, world.ControllerManager)
}

// report is what the audit says, as a program reads it.
type report struct {
	Findings []struct {
		Rule, Severity, Verdict, Message, Fix string

		Latent    bool
		Object    struct{ Kind, Namespace, Name string }
		Reference *struct{ Index int }
		Patch     []struct{ Op, Path string }
	}
	Incomplete []struct{ Resource, Reason string }
	Summary    struct{ Error, Warning, Info, Incomplete, Fixed int }
}

// audit runs the audit, which has to end with the status, and reads its report.
func audit(t *testing.T, w *world.World, status int, args ...string) report {
	t.Helper()
	return parse(t, w.MustPlugin(t, status, append([]string{"audit", "-o", "json"}, args...)...))
}

func parse(t *testing.T, text string) report {
	t.Helper()
	var r report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	count := map[string]int{}
	for _, f := range r.Findings {
		count[f.Severity]++
	}
	if count["error"] != r.Summary.Error || count["warning"] != r.Summary.Warning || count["info"] != r.Summary.Info || len(r.Incomplete) != r.Summary.Incomplete {
		t.Errorf("the summary %+v does not count %v and %d gaps", r.Summary, count, len(r.Incomplete))
	}
	return r
}

// of are the rules and severities of an object's findings, in order: "error R05".
func (r report) of(kind, name string) []string {
	var found []string
	for _, f := range r.Findings {
		if f.Object.Kind == kind && f.Object.Name == name {
			found = append(found, f.Severity+" "+f.Rule)
		}
	}
	return found
}

// gap is why a resource could not be read; empty if it could.
func (r report) gap(resource string) string {
	for _, gap := range r.Incomplete {
		if gap.Resource == resource {
			return gap.Reason
		}
	}
	return ""
}

// namespace creates a namespace for one test. Nothing empties it: what is in it goes with
// its own clean-up, and it stays.
func namespace(t *testing.T, w *world.World, name string) string {
	t.Helper()
	w.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return name
}

// create creates an object with references, and ends it with the test.
func create(t *testing.T, w *world.World, apiVersion, kind, namespace, name string, refs ...metav1.OwnerReference) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetOwnerReferences(refs)
	createObject(t, w, o)
	return o
}

func createObject(t *testing.T, w *world.World, o client.Object) {
	t.Helper()
	world.Eventually(t, world.Patience, "creating "+o.GetName(), func() error { return w.Client.Create(t.Context(), o) })
	t.Cleanup(func() { remove(t, w, o) })
}

// remove ends an object, whatever holds it.
func remove(t *testing.T, w *world.World, o client.Object) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := w.Client.Patch(ctx, o, free); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
	if err := w.Client.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
}

// setOwners edits the references of an object.
func setOwners(t *testing.T, w *world.World, o *unstructured.Unstructured, refs ...metav1.OwnerReference) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": refs}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, text)); err != nil {
		t.Fatal(err)
	}
}

// ref refers to an object.
func ref(o *unstructured.Unstructured, change ...func(*metav1.OwnerReference)) metav1.OwnerReference {
	r := metav1.OwnerReference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID()}
	for _, c := range change {
		c(&r)
	}
	return r
}

func named(name string) func(*metav1.OwnerReference) {
	return func(r *metav1.OwnerReference) { r.Name = name }
}

func kind(apiVersion, kind string) func(*metav1.OwnerReference) {
	return func(r *metav1.OwnerReference) { r.APIVersion, r.Kind = apiVersion, kind }
}

func uid(uid types.UID) func(*metav1.OwnerReference) {
	return func(r *metav1.OwnerReference) { r.UID = uid }
}

func blocking(r *metav1.OwnerReference) { r.BlockOwnerDeletion = new(true) }

// nobody is the uid of nothing.
const nobody = types.UID("00000000-0000-0000-0000-000000000000")

const acme = "acme.example/v1"

// cast are an owner of each scope, and one of the same name elsewhere.
type cast struct {
	ns, other           string
	here, there, global *unstructured.Unstructured
}

func newCast(t *testing.T, w *world.World, prefix string) cast {
	t.Helper()
	c := cast{ns: namespace(t, w, prefix), other: namespace(t, w, prefix+"-other")}
	c.here = create(t, w, acme, "Widget", c.ns, "w")
	c.there = create(t, w, acme, "Widget", c.other, "w")
	c.global = create(t, w, acme, "ClusterWidget", "", prefix)
	return c
}

func describe(found []string) string { return fmt.Sprintf("%q", found) }
