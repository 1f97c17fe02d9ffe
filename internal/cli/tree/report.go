package tree

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// Report is an object with everything that owns it and that it owns.
type Report struct {
	Object document.Object `json:"object"`

	// Objects are all that is in the tree, sorted; of an owner that nothing was read for
	// only what the reference says.
	Objects []Object `json:"objects"`

	// Edges are the references among them.
	Edges []Edge `json:"edges"`

	Incomplete []inventory.Incomplete `json:"incomplete"`
}

// Object is one object of the tree.
type Object struct {
	Object document.Object `json:"object"`

	// Deleting says that it has a deletionTimestamp, Absent that it was not found.
	Deleting bool `json:"deleting,omitempty"`
	Absent   bool `json:"absent,omitempty"`
}

// Edge is a reference.
type Edge struct {
	Dependent document.Object `json:"dependent"`
	Owner     document.Object `json:"owner"`
	Reference Reference       `json:"reference"`
}

// Reference is what a reference says, and what the collector takes it for.
type Reference struct {
	Index int `json:"index"`
	metav1.OwnerReference

	Class rules.Rule `json:"class,omitempty"`
	Word  string     `json:"word,omitempty"`
}

// walker walks a graph from one object, up and down.
type walker struct {
	graph   *graph.Graph
	present *rules.Prediction
}

// reached are the objects above and below an object, itself included. Each is visited once,
// so that cycles end.
func (w walker) reached(from graph.ID) []graph.ID {
	seen := map[graph.ID]bool{from: true}
	for _, next := range []func(graph.ID) []graph.ID{w.owners, w.dependents} {
		todo := []graph.ID{from}
		for at := 0; at < len(todo); at++ {
			for _, id := range next(todo[at]) {
				if !seen[id] {
					seen[id] = true
					todo = append(todo, id)
				}
			}
		}
	}
	reached := make([]graph.ID, 0, len(seen))
	for id := range seen {
		reached = append(reached, id)
	}
	slices.Sort(reached)
	return reached
}

// owners are the owners of an object, each once, in the order of the references.
func (w walker) owners(id graph.ID) []graph.ID {
	if w.graph.Virtual(id) {
		return nil
	}
	var owners []graph.ID
	first, last := w.graph.ReferenceRange(id)
	for number := first; number < last; number++ {
		if owner := w.graph.Edge(number).Owner; !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	return owners
}

// dependents are the dependents of an object, each once, sorted.
func (w walker) dependents(id graph.ID) []graph.ID {
	var dependents []graph.ID
	for _, number := range w.graph.Dependents(id) {
		dependents = append(dependents, w.graph.Edge(int(number)).Dependent)
	}
	slices.Sort(dependents)
	dependents = slices.Compact(dependents)
	slices.SortFunc(dependents, func(a, b graph.ID) int { return document.Compare(w.object(a), w.object(b)) })
	return dependents
}

// object names an object; a virtual owner as the first reference to it does.
func (w walker) object(id graph.ID) document.Object {
	if !w.graph.Virtual(id) {
		return document.ObjectOf(w.graph, id)
	}
	numbers := w.graph.Dependents(id)
	ref := w.graph.Reference(int(numbers[0]))
	o := document.Object{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID}
	if ref.Mapping.Type.Namespaced {
		o.Namespace = w.graph.Namespace(ref.Dependent)
	}
	return o
}

func (w walker) report(from graph.ID, incomplete []inventory.Incomplete) *Report {
	r := &Report{Object: w.object(from), Edges: []Edge{}, Incomplete: append([]inventory.Incomplete{}, incomplete...)}
	reached := w.reached(from)
	for _, id := range reached {
		virtual := w.graph.Virtual(id)
		r.Objects = append(r.Objects, Object{Object: w.object(id), Absent: virtual, Deleting: !virtual && w.graph.Deleting(id)})
		if virtual {
			continue
		}
		first, last := w.graph.ReferenceRange(id)
		for number := first; number < last; number++ {
			if _, in := slices.BinarySearch(reached, w.graph.Edge(number).Owner); in {
				r.Edges = append(r.Edges, w.edge(number))
			}
		}
	}
	slices.SortFunc(r.Objects, func(a, b Object) int { return document.Compare(a.Object, b.Object) })
	slices.SortStableFunc(r.Edges, func(a, b Edge) int { return document.Compare(a.Dependent, b.Dependent) })
	return r
}

func (w walker) edge(number int) Edge {
	ref := w.graph.Reference(number)
	e := Edge{
		Dependent: w.object(ref.Dependent), Owner: w.object(ref.Owner),
		Reference: Reference{Index: ref.Index, OwnerReference: ref.OwnerReference},
	}
	if c, ok := w.present.Classification(number); ok {
		e.Reference.Class, e.Reference.Word = c.Rule, c.Class.String()
	}
	return e
}
