package graph_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
)

const acme = "acme.example/v1"

func clusterTypes() *graph.Types {
	return graph.NewTypes(
		graph.Type{APIVersion: "v1", Kind: "ConfigMap", Namespaced: true, Serving: graph.Served},
		graph.Type{APIVersion: acme, Kind: "Widget", Namespaced: true, Serving: graph.Served},
		graph.Type{APIVersion: "acme.example/v1beta1", Kind: "Widget", Namespaced: true, Serving: graph.ServedAgain},
		graph.Type{APIVersion: "acme.example/v0", Kind: "Widget", Namespaced: true, Serving: graph.VanishedEarlier},
		graph.Type{APIVersion: acme, Kind: "ClusterWidget", Serving: graph.Served},
		graph.Type{APIVersion: "extensions/v1", Kind: "Widget", Namespaced: true, Serving: graph.Served},
	)
}

func widget(namespace, name string, owners ...metav1.OwnerReference) graph.Object {
	return graph.Object{APIVersion: acme, Kind: "Widget", Namespace: namespace, Name: name, UID: types.UID(namespace + name), Owners: owners}
}

func ref(kind, name, uid string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: acme, Kind: kind, Name: name, UID: types.UID(uid)}
}

func build(t testing.TB, objects ...graph.Object) *graph.Graph {
	t.Helper()
	b := graph.NewBuilder(clusterTypes())
	for _, o := range objects {
		if err := b.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	return b.Graph()
}

func TestTypes_Resolve(t *testing.T) {
	ts := clusterTypes()
	for _, tc := range []struct {
		name, apiVersion, kind string
		wantKind               string
		wantResolves, wantNone bool
	}{
		{"the kind itself", acme, "Widget", "Widget", true, false},
		{"in lower case", acme, "widget", "Widget", true, false},
		{"in mixed case", acme, "wIdget", "", false, false},
		{"another version", "acme.example/v9", "Widget", "", false, false},
		{"served again", "acme.example/v1beta1", "Widget", "Widget", true, false},
		{"not any more", "acme.example/v0", "Widget", "Widget", false, false},
		{"the list of it", acme, "WidgetList", "Widget", true, true},
		{"the list in lower case", acme, "widgetlist", "", false, false},
		{"the list of the kind in lower case", acme, "widgetList", "", false, false},
		{"List where something is served", acme, "List", "List", true, true},
		{"List where nothing is", "acme.example/v0", "List", "", false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := ts.Resolve(tc.apiVersion, tc.kind)
			if m.Type.Kind != tc.wantKind || m.Resolves() != tc.wantResolves || m.NoResource != tc.wantNone {
				t.Errorf("got %+v, resolves %v", m, m.Resolves())
			}
		})
	}
}

func TestTypes_Suggest(t *testing.T) {
	var got []string
	for _, s := range clusterTypes().Suggest("WIDGET") {
		got = append(got, s.APIVersion)
	}
	if want := []string{acme, "acme.example/v1beta1", "extensions/v1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := len(clusterTypes().All()); n != 6 {
		t.Errorf("%d types", n)
	}
	words := fmt.Sprint(graph.NotServed, graph.Served, graph.ServedAgain, graph.VanishedRecently, graph.VanishedEarlier)
	if words != "not-served served served-again vanished-recently vanished-earlier" {
		t.Error(words)
	}
}

func TestGraph_Object(t *testing.T) {
	yes, no := true, false
	want := widget("a", "w", ref("Widget", "v", "av"))
	want.Deleting, want.Marked, want.Finalizers = true, true, []string{"x", "y"}
	want.Owners[0].BlockOwnerDeletion, want.Owners[0].Controller = &yes, &no
	g := build(t, want, widget("a", "v"))
	if got := g.Object(0); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if !g.Deleting(0) || !g.Marked(0) || g.Name(0) != "w" || g.Len() != 2 || g.References() != 1 {
		t.Errorf("the graph disagrees with its object")
	}
	r := g.Reference(0)
	if !r.Blocking() || r.Owner != 1 || r.Index != 0 || !r.Linked || !r.Matches {
		t.Errorf("got %+v", r)
	}
	if got := g.Dependents(1); !slices.Equal(got, []int32{0}) {
		t.Errorf("dependents %v", got)
	}
}

func TestGraph_VirtualOwner(t *testing.T) {
	g := build(t, widget("a", "w", ref("Widget", "ghost", "ghost")), widget("b", "w", ref("Widget", "other", "ghost")))
	id, ok := g.Find("ghost")
	if !ok || !g.Virtual(id) || g.Nodes() != 3 || len(g.Dependents(id)) != 2 {
		t.Fatalf("node %d, found %v, %d nodes", id, ok, g.Nodes())
	}
	if got := g.Object(id); !reflect.DeepEqual(got, graph.Object{UID: "ghost"}) {
		t.Errorf("got %+v", got)
	}
	if g.SameCoordinates(0, 1) {
		t.Error("two names, yet the same coordinates")
	}
}

func TestBuilder_Add(t *testing.T) {
	b := graph.NewBuilder(clusterTypes())
	for _, o := range []graph.Object{{Kind: "Widget", Name: "w"}, {Kind: "Widget", UID: "u"}, {Name: "w", UID: "u"}} {
		if err := b.Add(o); !errors.Is(err, graph.ErrIncomplete) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestBuilder_Twice: an object that is read twice is there once, and can be reached no
// other way than before.
func TestBuilder_Twice(t *testing.T) {
	g := build(t, widget("a", "w"), widget("a", "w"))
	if g.Len() != 1 {
		t.Errorf("%d objects", g.Len())
	}
	if id, ok := g.Lookup(acme, "Widget", "a", "w"); id != 0 || !ok {
		t.Errorf("found %d", id)
	}
}

// TestBuilder_Retype: what is learnt of the types while objects are added holds for those
// that were added before.
func TestBuilder_Retype(t *testing.T) {
	b := graph.NewBuilder(clusterTypes())
	lower := ref("widget", "w", "aw")
	for _, o := range []graph.Object{widget("a", "w"), widget("a", "dependent", lower)} {
		if err := b.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	b.Retype(graph.NewTypes(graph.Type{APIVersion: acme, Kind: "Widget", Namespaced: true, Serving: graph.Served, Unreadable: true}))
	g := b.Graph()
	if _, _, m := g.Kind(0); !m.Type.Unreadable || !g.Reference(0).Mapping.Type.Unreadable {
		t.Error("a kind has the old type")
	}
	if !g.Edge(0).Linked {
		t.Error("the reference does not reach its owner any more")
	}
}

// TestGraph_Linked: which references reach the object of their uid (R13, R15).
func TestGraph_Linked(t *testing.T) {
	cluster := graph.Object{APIVersion: acme, Kind: "ClusterWidget", Name: "p", UID: "p"}
	older := ref("Widget", "w", "aw")
	older.APIVersion = "acme.example/v1beta1"
	otherGroup := ref("Widget", "w", "aw")
	otherGroup.APIVersion = "extensions/v1"
	for _, tc := range []struct {
		name                  string
		namespace             string
		ref                   metav1.OwnerReference
		alias                 bool
		wantLinked, wantMatch bool
	}{
		{"the same namespace", "a", ref("Widget", "w", "aw"), false, true, true},
		{"another namespace", "b", ref("Widget", "w", "aw"), false, false, false},
		{"a cluster-scoped owner", "b", ref("ClusterWidget", "p", "p"), false, true, true},
		{"another version", "a", older, false, true, false},
		{"lower case", "a", ref("widget", "w", "aw"), false, true, false},
		{"another name", "a", ref("Widget", "v", "aw"), false, false, false},
		{"another kind", "a", ref("ClusterWidget", "w", "aw"), false, false, false},
		{"a list", "a", ref("WidgetList", "w", "aw"), false, false, false},
		{"another group", "a", otherGroup, false, false, false},
		{"a group that serves the same object", "a", otherGroup, true, true, false},
		{"the same from another namespace", "b", otherGroup, true, false, false},
		{"another name beside an alias", "a", ref("Widget", "v", "aw"), true, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			objects := []graph.Object{widget(tc.namespace, "dependent", tc.ref), widget("a", "w"), cluster}
			if tc.alias {
				second := widget("a", "w")
				second.APIVersion = "extensions/v1"
				objects = append(objects, second)
			}
			e := build(t, objects...).Edge(0)
			if e.Linked != tc.wantLinked || e.Matches != tc.wantMatch {
				t.Errorf("linked %v, matches %v", e.Linked, e.Matches)
			}
		})
	}
}

func TestGraph_Lookup(t *testing.T) {
	second := widget("a", "w")
	second.APIVersion = "extensions/v1"
	unknown := graph.Object{APIVersion: "x/v1", Kind: "Thing", Name: "t", UID: "t"}
	g := build(t, widget("b", "w"), widget("a", "w"), second, widget("a", "v"), unknown)
	for _, tc := range []struct {
		apiVersion, kind, namespace, name string
		want                              graph.ID
	}{
		{acme, "Widget", "a", "w", 1},
		{"acme.example/v1beta1", "widget", "b", "w", 0},
		{"extensions/v1", "Widget", "a", "w", 1},
		{acme, "Widget", "c", "w", graph.None},
		{acme, "WidgetList", "a", "w", graph.None},
		{"x/v1", "Thing", "", "t", 3},
	} {
		if got, ok := g.Lookup(tc.apiVersion, tc.kind, tc.namespace, tc.name); got != tc.want || ok != (tc.want >= 0) {
			t.Errorf("%+v: got %d", tc, got)
		}
	}
	if got, want := g.Sorted(), []graph.ID{3, 2, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("sorted %v, want %v", got, want)
	}
}

func TestGraph_Cycles(t *testing.T) {
	g := build(t,
		widget("a", "1", ref("Widget", "3", "a3")),
		widget("a", "2", ref("Widget", "1", "a1"), ref("Widget", "ghost", "ghost")),
		widget("a", "3", ref("Widget", "2", "a2")),
		widget("a", "self", ref("Widget", "self", "aself")),
		widget("a", "free", ref("Widget", "1", "a1")),
		widget("b", "1", ref("Widget", "2", "b2")),
		widget("b", "2", ref("Widget", "1", "b1")),
	)
	if got, want := g.Cycles(), [][]graph.ID{{0, 1, 2}, {3}, {5, 6}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if !g.OwnsItself(3) || g.OwnsItself(0) {
		t.Error("wrong object owns itself")
	}
}

// TestGraph_Cycles_Long: neither a long cycle nor a long chain overflows.
func TestGraph_Cycles_Long(t *testing.T) {
	const n = 10_000
	objects := make([]graph.Object, n)
	for i := range objects {
		next := fmt.Sprint((i + 1) % n)
		objects[i] = widget("a", fmt.Sprint(i), ref("Widget", next, "a"+next))
	}
	if got := build(t, objects...).Cycles(); len(got) != 1 || len(got[0]) != n {
		t.Errorf("%d cycles", len(got))
	}
	objects[n-1].Owners = nil
	if got := build(t, objects...).Cycles(); len(got) != 0 {
		t.Errorf("%d cycles in a chain", len(got))
	}
}

// TestIsNamespace: what is only called so, in another group or in a namespace, is none.
func TestIsNamespace(t *testing.T) {
	for name, tc := range map[string]struct {
		object graph.Object
		want   bool
	}{
		"a Namespace":        {graph.Object{APIVersion: "v1", Kind: "Namespace", Name: "a", UID: "1"}, true},
		"of another group":   {graph.Object{APIVersion: acme, Kind: "Namespace", Name: "a", UID: "1"}, false},
		"another core kind":  {graph.Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: "a", Name: "a", UID: "1"}, false},
		"in a namespace too": {graph.Object{APIVersion: "v1", Kind: "Namespace", Namespace: "a", Name: "a", UID: "1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := build(t, tc.object).IsNamespace(0); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
