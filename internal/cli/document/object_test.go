package document

import (
	"slices"
	"testing"

	"labhub.io/teamspace/ownership/graph"
)

func TestObjectOf(t *testing.T) {
	b := graph.NewBuilder(graph.NewTypes())
	for _, o := range []graph.Object{
		{APIVersion: "v1", Kind: "Secret", Namespace: "b", Name: "x", UID: "3"},
		{APIVersion: "v1", Kind: "Secret", Namespace: "a", Name: "y", UID: "2"},
		{APIVersion: "v1", Kind: "Node", Name: "n", UID: "1"},
	} {
		if err := b.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	g := b.Graph()
	objects := []Object{ObjectOf(g, 0), ObjectOf(g, 1), ObjectOf(g, 2)}
	slices.SortFunc(objects, Compare)
	var got []string
	for _, o := range objects {
		got = append(got, o.String())
	}
	if want := []string{"Node n", "Secret a/y", "Secret b/x"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
