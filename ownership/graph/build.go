package graph

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ErrIncomplete is the error of an object that no API server would have given
// out: without kind, name or uid there is nothing to build a node from.
var ErrIncomplete = errors.New("object lacks kind, name or uid")

// Builder collects objects for one graph.
type Builder struct {
	g         *Graph
	ownerUIDs []types.UID // of the references, until they have nodes
	kindIDs   map[typeName]uint32
	objectIDs map[schema.GroupKind]uint32
	nsIDs     map[string]uint32
	finIDs    map[string]uint32
}

// NewBuilder starts a graph of objects of the given types. Of a type that is
// not among them the graph believes what the object says: it exists, and is
// namespaced if it has a namespace.
func NewBuilder(t *Types) *Builder {
	b := &Builder{
		g: &Graph{
			types: t, byUID: map[types.UID]ID{}, aliases: map[coordinates]ID{},
		},
		kindIDs: map[typeName]uint32{}, objectIDs: map[schema.GroupKind]uint32{},
		nsIDs: map[string]uint32{}, finIDs: map[string]uint32{},
	}
	b.namespace("")
	b.finalizerList(nil)
	return b
}

// Add adds one object. An object whose uid is already there under other
// coordinates is the same object served under a second group: the first form
// stands, and the second is kept as another way to reach it (R15). One that is there
// under the same coordinates was read twice, and changes nothing. The builder
// keeps the strings of the object, not its slices.
func (b *Builder) Add(o Object) error {
	if o.Kind == "" || o.Name == "" || o.UID == "" {
		return fmt.Errorf("adding %s %q: %w", o.Kind, o.Name, ErrIncomplete)
	}
	if first, ok := b.g.byUID[o.UID]; ok {
		if b.same(first, o) {
			return nil
		}
		b.g.aliases[coordinates{groupKindOf(o.APIVersion, o.Kind), o.Namespace, o.Name}] = first
		return nil
	}
	b.g.byUID[o.UID] = ID(len(b.g.nodes))
	b.g.nodes = append(b.g.nodes, node{
		name: o.Name, uid: o.UID, kind: b.kind(o.APIVersion, o.Kind), namespace: b.namespace(o.Namespace),
		finalizers: b.finalizerList(o.Finalizers), refs: uint32(len(b.g.refs)),
		deleting: o.Deleting, marked: o.Marked,
	})
	for _, ref := range o.Owners {
		b.g.refs = append(b.g.refs, reference{
			name: ref.Name, kind: b.kind(ref.APIVersion, ref.Kind), dependent: ID(len(b.g.nodes) - 1),
			flags: tristate(ref.BlockOwnerDeletion, flagBlock, flagBlockSet) |
				tristate(ref.Controller, flagController, flagControllerSet),
		})
		b.ownerUIDs = append(b.ownerUIDs, ref.UID)
	}
	return nil
}

// same reports whether an object is the one that was added as first.
func (b *Builder) same(first ID, o Object) bool {
	n := &b.g.nodes[first]
	k := &b.g.kinds[n.kind]
	return n.name == o.Name && k.kind == o.Kind && k.apiVersion == o.APIVersion && b.g.namespaces[n.namespace] == o.Namespace
}

// Retype replaces the types that the graph is built with, for who learns more of them
// while objects are added. Nothing that was added is lost.
func (b *Builder) Retype(t *Types) {
	b.g.types = t
	b.objectIDs = map[schema.GroupKind]uint32{}
	for i := range b.g.kinds {
		b.resolve(&b.g.kinds[i])
	}
}

func tristate(v *bool, whenTrue, whenSet uint8) uint8 {
	switch {
	case v == nil:
		return 0
	case *v:
		return whenTrue | whenSet
	default:
		return whenSet
	}
}

// Graph ends the building. The builder must not be used afterwards.
func (b *Builder) Graph() *Graph {
	g := b.g
	g.objects = len(g.nodes)
	b.resolveOwners()
	g.nodes = append(g.nodes, node{refs: uint32(len(g.refs)), in: uint32(len(g.refs))})
	for id := g.objects; id < len(g.nodes)-1; id++ {
		g.nodes[id].refs = uint32(len(g.refs))
	}
	b.invert()
	for i := range g.refs {
		b.link(&g.refs[i])
	}
	g.index = lazily(func() coordinateIndex { return newCoordinateIndex(g) })
	return g
}

// resolveOwners turns uids into nodes, virtual ones where nothing was added.
func (b *Builder) resolveOwners() {
	g := b.g
	for i, uid := range b.ownerUIDs {
		owner, ok := g.byUID[uid]
		if !ok {
			owner = ID(len(g.nodes))
			g.byUID[uid] = owner
			g.nodes = append(g.nodes, node{uid: uid})
		}
		g.refs[i].owner = owner
	}
	b.ownerUIDs = nil
}

// invert lists the references by owner, by counting.
func (b *Builder) invert() {
	g := b.g
	count := make([]uint32, len(g.nodes))
	for i := range g.refs {
		count[g.refs[i].owner]++
	}
	next := uint32(0)
	for id := range g.nodes {
		g.nodes[id].in = next
		next += count[id]
		count[id] = g.nodes[id].in
	}
	g.in = make([]int32, len(g.refs))
	for i := range g.refs {
		owner := g.refs[i].owner
		g.in[count[owner]] = int32(i)
		count[owner]++
	}
}

// link decides whether the coordinates of a reference lead to the node of its
// uid. The exact version must be served, another served version of the same
// object is fine (R15); the namespace is the dependent's, or none for a
// cluster-scoped kind (R13).
func (b *Builder) link(r *reference) {
	g := b.g
	if int(r.owner) >= g.objects {
		return
	}
	owner, dependent := &g.nodes[r.owner], &g.nodes[r.dependent]
	refKind, ownerKind := &g.kinds[r.kind], &g.kinds[owner.kind]
	sameNamespace := owner.namespace == dependent.namespace
	inReach := sameNamespace || owner.namespace == 0
	if r.kind == owner.kind && r.name == owner.name && inReach {
		r.flags |= flagMatches
	}
	if refKind.mapping.NoResource {
		return
	}
	if refKind.mapping.Resolves() && refKind.mapping.Type.Namespaced {
		inReach = sameNamespace
	}
	direct := refKind.object == ownerKind.object && r.name == owner.name && inReach
	if direct || b.aliased(r, refKind) {
		r.flags |= flagLinked
	}
}

// aliased reports whether the reference reaches its owner by coordinates of a
// second group.
func (b *Builder) aliased(r *reference, k *kind) bool {
	if len(b.g.aliases) == 0 {
		return false
	}
	namespace := b.g.namespaces[b.g.nodes[r.owner].namespace]
	if namespace != "" && namespace != b.g.namespaces[b.g.nodes[r.dependent].namespace] {
		return false
	}
	id, ok := b.g.aliases[coordinates{k.groupKind, namespace, r.name}]
	return ok && id == r.owner
}

// properKind returns the kind in its right spelling, if that is known.
func (k *kind) properKind() string {
	if k.mapping.Type.Kind != "" {
		return k.mapping.Type.Kind
	}
	return k.kind
}

func (b *Builder) kind(apiVersion, name string) uint32 {
	key := typeName{apiVersion, name}
	if id, ok := b.kindIDs[key]; ok {
		return id
	}
	k := kind{apiVersion: apiVersion, kind: name}
	b.resolve(&k)
	id := uint32(len(b.g.kinds))
	b.g.kinds = append(b.g.kinds, k)
	b.kindIDs[key] = id
	return id
}

// resolve finds what the apiVersion and kind of k stand for.
func (b *Builder) resolve(k *kind) {
	k.mapping = b.g.types.Resolve(k.apiVersion, k.kind)
	k.groupKind = groupKindOf(k.apiVersion, k.properKind())
	object, ok := b.objectIDs[k.groupKind]
	if !ok {
		object = uint32(len(b.objectIDs))
		b.objectIDs[k.groupKind] = object
	}
	k.object = object
}

func (b *Builder) namespace(name string) uint32 {
	id, ok := b.nsIDs[name]
	if !ok {
		id = uint32(len(b.g.namespaces))
		b.nsIDs[name] = id
		b.g.namespaces = append(b.g.namespaces, name)
	}
	return id
}

func (b *Builder) finalizerList(list []string) uint32 {
	key := strings.Join(list, "\x00")
	id, ok := b.finIDs[key]
	if !ok {
		id = uint32(len(b.g.finalizers))
		b.finIDs[key] = id
		b.g.finalizers = append(b.g.finalizers, append([]string(nil), list...))
	}
	return id
}

// coordinates is where an object is found, whatever its version.
type coordinates struct {
	groupKind schema.GroupKind
	namespace string
	name      string
}

func groupKindOf(apiVersion, kind string) schema.GroupKind {
	return schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind()
}

// coordinateIndex lists the objects sorted by coordinates.
type coordinateIndex []ID

func newCoordinateIndex(g *Graph) coordinateIndex {
	index := make(coordinateIndex, g.objects)
	for id := range index {
		index[id] = ID(id)
	}
	sort.SliceStable(index, func(i, j int) bool {
		return compareCoordinates(g.coordinatesOf(index[i]), g.coordinatesOf(index[j])) < 0
	})
	return index
}

func (g *Graph) coordinatesOf(id ID) coordinates {
	k := &g.kinds[g.nodes[id].kind]
	return coordinates{k.groupKind, g.Namespace(id), g.nodes[id].name}
}

func compareCoordinates(a, b coordinates) int {
	for _, c := range [...]int{
		strings.Compare(a.groupKind.Kind, b.groupKind.Kind),
		strings.Compare(a.groupKind.Group, b.groupKind.Group),
		strings.Compare(a.namespace, b.namespace),
		strings.Compare(a.name, b.name),
	} {
		if c != 0 {
			return c
		}
	}
	return 0
}

func (ci coordinateIndex) find(g *Graph, c coordinates) (ID, bool) {
	i := sort.Search(len(ci), func(i int) bool { return compareCoordinates(g.coordinatesOf(ci[i]), c) >= 0 })
	if i < len(ci) && g.coordinatesOf(ci[i]) == c {
		return ci[i], true
	}
	return None, false
}

// Sorted returns the objects by kind, group, namespace and name: the order for
// everything that people or golden files read.
func (g *Graph) Sorted() []ID { return append([]ID(nil), g.index()...) }
