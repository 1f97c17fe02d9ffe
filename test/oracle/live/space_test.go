package live

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// newCluster is a cluster in memory. What it creates has the uid "uid of NAME".
func newCluster() *Cluster {
	c := &Cluster{kinds: kinds()}
	lists := map[string]bool{}
	scheme := runtime.NewScheme()
	for name, k := range c.kinds {
		gvk := k.Resource.GroupVersion().WithKind(name.kind)
		if !lists[gvk.String()] {
			scheme.AddKnownTypeWithName(gvk, &unstructured.Unstructured{})
			scheme.AddKnownTypeWithName(k.Resource.GroupVersion().WithKind(name.kind+"List"), &unstructured.UnstructuredList{})
		}
		lists[gvk.String()] = true
	}
	client := fake.NewSimpleDynamicClient(scheme)
	client.PrependReactor("create", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if create, ok := action.(clienttesting.CreateAction); ok {
			if o, ok := create.GetObject().(*unstructured.Unstructured); ok {
				o.SetUID("uid of " + types.UID(o.GetNamespace()+"/"+o.GetName()))
			}
		}
		return false, nil, nil // the tracker goes on with it
	})
	c.client = client
	return c
}

func widget(name string, owners ...metav1.OwnerReference) graph.Object {
	return graph.Object{
		APIVersion: "acme.example/v1", Kind: "Widget", Namespace: "a", Name: name, UID: types.UID("Widget/a/" + name), Owners: owners,
	}
}

func reference(name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "acme.example/v1", Kind: "Widget", Name: name, UID: uid}
}

// TestSpace_Translates: in a space objects are called as in the notation, in the
// cluster as nobody else's are, and back again.
func TestSpace_Translates(t *testing.T) {
	ctx := t.Context()
	c := newCluster()
	one, two := c.NewSpace("one"), c.NewSpace("two")
	child := widget("child", reference("owner", "Widget/a/owner"), reference("ghost", "ghost1"))
	child.Finalizers = []string{"acme.example/hold"}
	for _, s := range []*Space{one, two} {
		for _, o := range []graph.Object{widget("owner"), child} {
			got, err := s.Create(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(o, got); diff != "" {
				t.Errorf("%s comes back changed (-want +got):\n%s", o.UID, diff)
			}
		}
	}
	all, err := c.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]graph.Object{widget("owner"), child}, two.Objects(all)); diff != "" {
		t.Errorf("the second space holds (-want +got):\n%s", diff)
	}
	stored := all["uid of two-a/two-child"]
	if stored == nil {
		t.Fatal("the child of the second space is not where it should be")
	}
	want := []metav1.OwnerReference{reference("two-owner", "uid of two-a/two-owner"), reference("two-ghost", "two-ghost1")}
	if diff := cmp.Diff(want, stored.GetOwnerReferences()); diff != "" {
		t.Errorf("its references really are (-want +got):\n%s", diff)
	}
}

func TestSpace_State(t *testing.T) {
	ctx := t.Context()
	c := newCluster()
	s := c.NewSpace("x")
	if _, err := s.Create(ctx, widget("w")); err != nil {
		t.Fatal(err)
	}
	states := func() (rules.State, rules.State) {
		all, err := c.List(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return s.State("Widget/a/w", all), s.State("Widget/a/never", all)
	}
	is, never := states()
	if !is.Exists || never.Exists {
		t.Errorf("w exists: %t, and what never was: %t", is.Exists, never.Exists)
	}
	if err := s.Delete(ctx, "Widget/a/w", metav1.DeletePropagationBackground); err != nil {
		t.Fatal(err)
	}
	if is, _ = states(); is.Exists {
		t.Error("w exists after it was deleted")
	}
	if err := s.Delete(ctx, "Widget/a/w", ""); !errors.Is(err, ErrGone) {
		t.Errorf("the second DELETE: %v, want %v", err, ErrGone)
	}
	if _, err := s.SetOwners(ctx, "Widget/a/w", nil); !errors.Is(err, ErrGone) {
		t.Errorf("an update after that: %v, want %v", err, ErrGone)
	}
}

func TestSpace_UnknownType(t *testing.T) {
	s := newCluster().NewSpace("x")
	if _, err := s.Create(t.Context(), graph.Object{APIVersion: "v9", Kind: "Thing", Name: "t", UID: "t"}); err == nil {
		t.Error("no error")
	}
}

func TestSpace_CreateAll(t *testing.T) {
	s := newCluster().NewSpace("x")
	list := []graph.Object{widget("a"), widget("b"), widget("c")}
	if err := s.CreateAll(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	all, err := s.cluster.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list, s.Objects(all)); diff != "" {
		t.Errorf("there is (-want +got):\n%s", diff)
	}
}

func TestEach(t *testing.T) {
	numbers := make([]int, 100)
	err := Each(numbers, func(i, _ int) error {
		numbers[i] = i
		if i == 42 {
			return ErrGone
		}
		return nil
	})
	if !errors.Is(err, ErrGone) {
		t.Errorf("got %v, want %v", err, ErrGone)
	}
	for i, n := range numbers {
		if n != i {
			t.Errorf("number %d was left out", i)
		}
	}
}

func TestWatch_Waited(t *testing.T) {
	w := &Watch{objects: Objects{}, waited: map[types.UID]bool{}}
	o := &unstructured.Unstructured{}
	o.SetUID("u")
	waiting := o.DeepCopy()
	now := metav1.Now()
	waiting.SetDeletionTimestamp(&now)
	waiting.SetFinalizers([]string{metav1.FinalizerDeleteDependents})
	released := waiting.DeepCopy()
	released.SetFinalizers([]string{"acme.example/hold"})

	w.see(o, false)
	if w.Waited("u") {
		t.Error("it has waited before it was deleted")
	}
	w.see(waiting, false)
	w.see(released, false)
	if !w.Waited("u") {
		t.Error("that it has waited is forgotten")
	}
	w.Forget()
	if w.Waited("u") {
		t.Error("a new collector remembers that it has waited")
	}
	w.see(waiting, false)
	w.Forget()
	if !w.Waited("u") {
		t.Error("a new collector does not see that it waits")
	}
	w.see(o, true)
	if len(w.Objects()) != 0 {
		t.Error("it is there after it went")
	}
}
