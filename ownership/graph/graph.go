// Package graph holds the objects of a cluster as the garbage collector sees
// them: nodes by uid, references as edges, and a virtual node for every owner
// uid that nothing was read for.
//
// A Graph is built once and then only read; it may be shared between
// goroutines. Building takes time and memory linear in objects and references.
// Kinds, namespaces and lists of finalizers are interned, an owner's uid is
// stored once however many dependents name it, and nothing recurses, so a
// million objects or a chain of as many are ordinary input.
package graph

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ID numbers a node of one graph. Objects come first, in the order in which
// they were added, then the virtual owners.
type ID int32

// None is the ID of nothing.
const None ID = -1

// Object is what the collector looks at in an object: coordinates and
// metadata. Other fields never matter.
type Object struct {
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
	UID        types.UID
	// Deleting says that deletionTimestamp is set. Without finalizers the
	// object is within its grace period: something else will remove it.
	Deleting bool
	// Marked says that the running collector saw the object wait for its
	// dependents although it does not carry foregroundDeletion any more. The
	// mark lives in the collector's memory until it restarts; it matters to
	// R09 alone.
	Marked     bool
	Finalizers []string
	Owners     []metav1.OwnerReference
}

// Reference is an owner reference of one object, with what the graph knows of
// it.
type Reference struct {
	metav1.OwnerReference
	// Dependent is the object that carries the reference, Index its place in
	// the object's list.
	Dependent ID
	Index     int
	// Owner is the node of that uid, observed or virtual.
	Owner ID
	// Mapping is what apiVersion and kind resolve to.
	Mapping Mapping
	// Linked says that a GET by the coordinates, in the namespace where the
	// collector looks, finds the node Owner itself. A reference that is not
	// linked finds nothing there, or an object with another uid.
	Linked bool
	// Matches says that the coordinates and the namespace are spelled exactly
	// as the owner was observed, which is what decides whether the collector
	// looks at the dependent when it first sees it.
	Matches bool
}

// Blocking reports whether the reference has blockOwnerDeletion=true.
func (r Reference) Blocking() bool {
	return r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
}

type node struct {
	name       string
	uid        types.UID
	kind       uint32
	namespace  uint32
	finalizers uint32
	refs       uint32 // first reference of this dependent
	in         uint32 // first entry of this owner in Graph.in
	deleting   bool
	marked     bool
}

type reference struct {
	name      string
	kind      uint32
	owner     ID
	dependent ID
	flags     uint8
}

const (
	flagBlock      = 1 << iota // blockOwnerDeletion=true
	flagBlockSet               // blockOwnerDeletion is not nil
	flagController             // controller=true
	flagControllerSet
	flagLinked
	flagMatches
)

// kind is an interned apiVersion and kind.
type kind struct {
	apiVersion, kind string
	mapping          Mapping
	// object numbers the group and kind, the same for all versions of it.
	object    uint32
	groupKind schema.GroupKind
}

// Graph is the ownership graph of a set of objects.
type Graph struct {
	types      *Types
	nodes      []node // one more than there are, so that ranges end
	refs       []reference
	in         []int32 // references by owner
	objects    int
	kinds      []kind
	namespaces []string
	finalizers [][]string
	byUID      map[types.UID]ID
	aliases    map[coordinates]ID
	index      func() coordinateIndex
}

// Types returns the types that the graph was built with.
func (g *Graph) Types() *Types { return g.types }

// Len returns the number of objects; they have the IDs 0 to Len-1.
func (g *Graph) Len() int { return g.objects }

// Nodes returns the number of objects and virtual owners; the virtual owners
// have the IDs Len to Nodes-1.
func (g *Graph) Nodes() int { return len(g.nodes) - 1 }

// References returns the number of references of all objects together.
func (g *Graph) References() int { return len(g.refs) }

// Virtual reports whether the node is an owner that no object was added for.
func (g *Graph) Virtual(id ID) bool { return int(id) >= g.objects }

// UID returns the uid of an object or a virtual owner.
func (g *Graph) UID(id ID) types.UID { return g.nodes[id].uid }

// Find returns the node of a uid, observed or virtual.
func (g *Graph) Find(uid types.UID) (ID, bool) {
	id, ok := g.byUID[uid]
	return id, ok
}

// Name returns the object's name, without copying more of it.
func (g *Graph) Name(id ID) string { return g.nodes[id].name }

// Namespace returns the object's namespace, "" for a cluster-scoped one.
func (g *Graph) Namespace(id ID) string { return g.namespaces[g.nodes[id].namespace] }

// Deleting reports whether the object has a deletionTimestamp.
func (g *Graph) Deleting(id ID) bool { return g.nodes[id].deleting }

// Marked reports Object.Marked.
func (g *Graph) Marked(id ID) bool { return g.nodes[id].marked }

// Finalizers returns the object's finalizers in stored order. The slice is
// shared: it must not be changed.
func (g *Graph) Finalizers(id ID) []string { return g.finalizers[g.nodes[id].finalizers] }

// Kind returns the apiVersion and kind under which the object was added and
// what they resolve to.
func (g *Graph) Kind(id ID) (apiVersion, kind string, m Mapping) {
	k := g.kinds[g.nodes[id].kind]
	return k.apiVersion, k.kind, k.mapping
}

// IsNamespace reports whether an object is a Namespace.
func (g *Graph) IsNamespace(id ID) bool {
	apiVersion, kind, _ := g.Kind(id)
	return apiVersion == "v1" && kind == "Namespace" && g.Namespace(id) == ""
}

// Object returns the object as it was added, of a virtual owner the uid alone.
func (g *Graph) Object(id ID) Object {
	n := &g.nodes[id]
	if g.Virtual(id) {
		return Object{UID: n.uid}
	}
	k := g.kinds[n.kind]
	o := Object{
		APIVersion: k.apiVersion, Kind: k.kind, Namespace: g.Namespace(id), Name: n.name, UID: n.uid,
		Deleting: n.deleting, Marked: n.marked, Finalizers: g.Finalizers(id),
	}
	first, last := g.ReferenceRange(id)
	for r := first; r < last; r++ {
		o.Owners = append(o.Owners, g.Reference(r).OwnerReference)
	}
	return o
}

// ReferenceRange returns the numbers first to last-1 of an object's
// references, for Reference.
func (g *Graph) ReferenceRange(id ID) (first, last int) {
	return int(g.nodes[id].refs), int(g.nodes[id+1].refs)
}

// Reference returns a reference by its number.
func (g *Graph) Reference(number int) Reference {
	r := &g.refs[number]
	k := &g.kinds[r.kind]
	out := Reference{
		OwnerReference: metav1.OwnerReference{
			APIVersion: k.apiVersion, Kind: k.kind, Name: r.name, UID: g.nodes[r.owner].uid,
		},
		Dependent: r.dependent,
		Index:     number - int(g.nodes[r.dependent].refs),
		Owner:     r.owner,
		Mapping:   k.mapping,
		Linked:    r.flags&flagLinked != 0,
		Matches:   r.flags&flagMatches != 0,
	}
	if r.flags&flagBlockSet != 0 {
		block := r.flags&flagBlock != 0
		out.BlockOwnerDeletion = &block
	}
	if r.flags&flagControllerSet != 0 {
		controller := r.flags&flagController != 0
		out.Controller = &controller
	}
	return out
}

// Edge is a reference without its text: what a walk over the whole graph
// needs, at no allocation.
type Edge struct {
	Dependent, Owner          ID
	Blocking, Linked, Matches bool
	// Kind numbers the apiVersion and kind of the reference: equal numbers are
	// spelled alike.
	Kind uint32
}

// Edge returns a reference by its number, without its text.
func (g *Graph) Edge(number int) Edge {
	r := &g.refs[number]
	return Edge{
		Dependent: r.dependent, Owner: r.owner, Kind: r.kind,
		Blocking: r.flags&flagBlock != 0, Linked: r.flags&flagLinked != 0, Matches: r.flags&flagMatches != 0,
	}
}

// Dependents returns the numbers of the references that name the uid of the
// node, whatever else they say, in the order of the dependents. The slice is
// shared: it must not be changed.
func (g *Graph) Dependents(id ID) []int32 {
	return g.in[g.nodes[id].in:g.nodes[id+1].in]
}

// SameCoordinates reports whether two references are spelled alike.
func (g *Graph) SameCoordinates(a, b int) bool {
	return g.refs[a].kind == g.refs[b].kind && g.refs[a].name == g.refs[b].name && g.refs[a].owner == g.refs[b].owner
}

// Lookup does what a GET does: it returns the object of that kind, in whatever
// version it was added, and of that namespace and name.
func (g *Graph) Lookup(apiVersion, kind, namespace, name string) (ID, bool) {
	m := g.types.Resolve(apiVersion, kind)
	if m.NoResource {
		return None, false
	}
	if m.Type.Kind != "" {
		apiVersion, kind = m.Type.APIVersion, m.Type.Kind
	}
	c := coordinates{groupKindOf(apiVersion, kind), namespace, name}
	if id, ok := g.aliases[c]; ok {
		return id, true
	}
	return g.index().find(g, c)
}

// lazily builds an index when it is first asked for: most graphs are never
// searched by name, and the index of a million objects is not free.
func lazily(build func() coordinateIndex) func() coordinateIndex { return sync.OnceValue(build) }
