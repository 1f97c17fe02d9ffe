package rules_test

import (
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// This file is the second, naive implementation: not rules and their closure,
// but a cluster in miniature. An API server stores objects and sends watch
// events; a collector keeps nodes, virtual ones too, and has queues, a cache
// and several workers that read and write one request at a time; a random
// scheduler decides who moves. Wherever it ends must be an end that Predict
// allows.

const (
	fgFinalizer     = metav1.FinalizerDeleteDependents
	orphanFinalizer = metav1.FinalizerOrphanDependents
)

// stored is an object in the API server.
type stored struct {
	graph.Object
	version int
	spec    bool // a Namespace with its own finalizer in spec
}

// change is a watch event, with what the collector needs of old and new.
type change struct {
	gone, virtual bool
	before        *graph.Object
	object        graph.Object
}

type identity struct {
	apiVersion, kind, namespace, name string
	uid                               types.UID
}

// vertex is a node of the collector's graph.
type vertex struct {
	identity
	virtual, marked, dying bool
	busy, again            bool // a worker has it; it is queued again meanwhile
	owners                 []metav1.OwnerReference
	dependents             map[*vertex]bool
}

type task func(yield func(struct{}) bool)

type naive struct {
	random   *rand.Rand
	types    *graph.Types
	store    map[types.UID]*stored
	changes  []change
	vertices map[types.UID]*vertex
	delete   []*vertex
	orphan   []*vertex
	retry    []*vertex // waits for its backoff
	cache    map[identity]bool
	workers  []func() bool
	moved    int // counts whatever is not a vain retry
}

func newNaive(random *rand.Rand, t *graph.Types) *naive {
	return &naive{
		random: random, types: t, store: map[types.UID]*stored{}, vertices: map[types.UID]*vertex{}, cache: map[identity]bool{},
	}
}

// API server.

func (n *naive) monitored(o graph.Object) bool {
	return !n.types.Resolve(o.APIVersion, o.Kind).Type.Unmonitored
}

type answer int

const (
	ok answer = iota
	notFound
	noMapping
	badScope
	conflict
	refused
)

func (n *naive) get(apiVersion, kind, namespace, name string) (*stored, answer) {
	m := n.types.Resolve(apiVersion, kind)
	if !m.Resolves() {
		return nil, noMapping
	}
	if m.NoResource {
		return nil, notFound
	}
	if !m.Type.Namespaced {
		namespace = ""
	}
	for _, o := range n.store {
		have := n.types.Resolve(o.APIVersion, o.Kind).Type.GroupKind()
		if have == m.Type.GroupKind() && o.Namespace == namespace && o.Name == name {
			copied := *o
			return &copied, ok
		}
	}
	return nil, notFound
}

// write stores a changed object and tells the watchers, or removes it if
// nothing holds it any more.
func (n *naive) write(uid types.UID, edit func(*graph.Object)) {
	o := n.store[uid]
	before := o.Object
	edit(&o.Object)
	o.version++
	n.moved++
	if o.Deleting && len(o.Finalizers) == 0 && !o.spec {
		delete(n.store, uid)
		if n.monitored(o.Object) {
			n.changes = append(n.changes, change{gone: true, object: o.Object})
		}
		return
	}
	if n.monitored(o.Object) {
		n.changes = append(n.changes, change{before: &before, object: o.Object})
	}
}

func (n *naive) deleteRequest(uid types.UID, version int, policy metav1.DeletionPropagation) answer {
	o, exists := n.store[uid]
	if !exists {
		return notFound
	}
	if version != 0 && version != o.version {
		return conflict
	}
	if o.spec && o.Deleting {
		return ok
	}
	t := n.types.Resolve(o.APIVersion, o.Kind).Type
	if policy == "" {
		policy = implicitPolicy(o.Finalizers, t)
	}
	after := slices.DeleteFunc(slices.Clone(o.Finalizers), func(f string) bool { return f == fgFinalizer || f == orphanFinalizer })
	own := map[metav1.DeletionPropagation]string{
		metav1.DeletePropagationForeground: fgFinalizer, metav1.DeletePropagationOrphan: orphanFinalizer,
	}[policy]
	if own != "" && !t.IgnoresPolicy {
		after = append(after, own)
	}
	if sameSet(after, o.Finalizers) {
		after = o.Finalizers
	}
	if o.Deleting && slices.Equal(after, o.Finalizers) {
		return ok
	}
	if version != 0 && t.IgnoresPolicy && len(o.Finalizers) > 0 && len(after) == 0 {
		return refused // the precondition is compared with an object that is empty by then
	}
	n.write(uid, func(o *graph.Object) { o.Deleting, o.Finalizers = true, after })
	return ok
}

func implicitPolicy(finalizers []string, t graph.Type) metav1.DeletionPropagation {
	first := slices.IndexFunc(finalizers, func(f string) bool { return f == fgFinalizer || f == orphanFinalizer })
	switch {
	case first >= 0 && finalizers[first] == fgFinalizer:
		return metav1.DeletePropagationForeground
	case first >= 0 || t.OrphansByDefault:
		return metav1.DeletePropagationOrphan
	default:
		return metav1.DeletePropagationBackground
	}
}

func sameSet(a, b []string) bool {
	x, y := slices.Clone(a), slices.Clone(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

func (n *naive) dropOwners(uid types.UID, owners []types.UID) {
	if _, exists := n.store[uid]; !exists {
		return
	}
	n.write(uid, func(o *graph.Object) {
		all := o.Owners
		o.Owners = slices.DeleteFunc(slices.Clone(all), func(r metav1.OwnerReference) bool { return slices.Contains(owners, r.UID) })
		if !strings.HasPrefix(o.APIVersion, "acme.example/") { // a strategic merge
			first := func(r metav1.OwnerReference) int {
				return slices.IndexFunc(all, func(other metav1.OwnerReference) bool { return other.UID == r.UID })
			}
			slices.SortStableFunc(o.Owners, func(a, b metav1.OwnerReference) int { return first(a) - first(b) })
		}
	})
}

// unblockOwners is the patch of R09: a strategic merge for built-in types, which
// merges what blocks into the first reference of its uid, and the whole list for
// others. Two controllers are refused, identical entries are one.
func (n *naive) unblockOwners(uid types.UID, known []metav1.OwnerReference) answer {
	o, exists := n.store[uid]
	if !exists {
		return notFound
	}
	owners := slices.Clone(o.Owners)
	if strings.HasPrefix(o.APIVersion, "acme.example/") {
		owners = slices.Clone(known)
		for i := range owners {
			owners[i].BlockOwnerDeletion = new(bool)
		}
	} else {
		for _, r := range known {
			if blocks(r) {
				owners = merge(owners, r)
			}
		}
	}
	if slices.EqualFunc(owners, o.Owners, sameFlags) {
		return ok
	}
	controllers := 0
	var distinct []metav1.OwnerReference
	for _, r := range owners {
		if r.Controller != nil && *r.Controller {
			controllers++
		}
		if !slices.ContainsFunc(distinct, func(other metav1.OwnerReference) bool { return reflect.DeepEqual(other, r) }) {
			distinct = append(distinct, r)
		}
	}
	if controllers > 1 {
		return conflict
	}
	n.write(uid, func(o *graph.Object) { o.Owners = distinct })
	return ok
}

func merge(owners []metav1.OwnerReference, r metav1.OwnerReference) []metav1.OwnerReference {
	r.BlockOwnerDeletion = new(bool)
	i := slices.IndexFunc(owners, func(other metav1.OwnerReference) bool { return other.UID == r.UID })
	if i < 0 {
		return owners // the real patch adds it again; that race is left out
	}
	if r.Controller == nil {
		r.Controller = owners[i].Controller
	}
	owners[i] = r
	return owners
}

func sameFlags(a, b metav1.OwnerReference) bool { return reflect.DeepEqual(a, b) }

// Graph of the collector.

func (n *naive) queue(v *vertex) {
	if !slices.Contains(n.delete, v) {
		n.delete = append(n.delete, v)
	}
}

func coordinatesOf(r metav1.OwnerReference, namespace string) identity {
	return identity{r.APIVersion, r.Kind, namespace, r.Name, r.UID}
}

func identityOf(o graph.Object) identity {
	return identity{o.APIVersion, o.Kind, o.Namespace, o.Name, o.UID}
}

func (id identity) names(r metav1.OwnerReference) bool {
	return id.uid == r.UID && id.apiVersion == r.APIVersion && id.kind == r.Kind && id.name == r.Name
}

func (n *naive) attach(v *vertex, refs []metav1.OwnerReference) {
	doubtful := false
	for _, r := range refs {
		owner, known := n.vertices[r.UID]
		if !known {
			owner = &vertex{identity: coordinatesOf(r, v.namespace), virtual: true, dependents: map[*vertex]bool{}}
			n.vertices[r.UID] = owner
			n.queue(owner)
		}
		owner.dependents[v] = true
		if known {
			switch {
			case owner.namespace != "" && owner.namespace != v.namespace,
				!owner.identity.names(r),
				owner.namespace == "" && v.namespace != "" && owner.virtual:
				doubtful = true
			}
		}
	}
	if doubtful {
		n.queue(v)
	}
}

func (n *naive) observe(o graph.Object) *vertex {
	v := &vertex{
		identity: identityOf(o), owners: o.Owners, dependents: map[*vertex]bool{}, dying: o.Deleting,
		marked: o.Deleting && slices.Contains(o.Finalizers, fgFinalizer),
	}
	n.vertices[o.UID] = v
	n.attach(v, o.Owners)
	return v
}

// split parts dependents by whether their references name the identity.
func split(v *vertex, id identity) (matching, others []*vertex) {
	for d := range v.dependents {
		match, mismatch := d.names(id)
		if match {
			matching = append(matching, d)
		}
		if mismatch {
			others = append(others, d)
		}
	}
	return matching, others
}

func (v *vertex) names(id identity) (match, mismatch bool) {
	if id.namespace != "" && id.namespace != v.namespace {
		return false, true
	}
	for _, r := range v.owners {
		if r.UID == id.uid {
			match = match || id.names(r)
			mismatch = mismatch || !id.names(r)
		}
	}
	return match, mismatch
}

func (n *naive) deliver(c change) {
	v, known := n.vertices[c.object.UID]
	if known && !c.virtual && v.virtual {
		if id := identityOf(c.object); v.identity != id {
			_, others := split(v, id)
			for _, d := range others {
				n.queue(d)
			}
			copied := *v
			copied.busy, copied.again = false, false
			copied.identity = id
			v = &copied
			n.vertices[id.uid] = v
		}
		v.virtual = false
	}
	switch {
	case c.gone:
		n.deliverGone(c, v, known)
	case !known:
		n.transitions(c, n.observe(c.object))
	default:
		n.deliverUpdate(c, v)
	}
}

func (n *naive) deliverUpdate(c change, v *vertex) {
	// Of several references with one uid the last one is remembered, and the first
	// new one compared with it; further new ones count as added.
	old := map[types.UID]metav1.OwnerReference{}
	for _, r := range v.owners {
		old[r.UID] = r
	}
	var added []metav1.OwnerReference
	changed := false
	for _, r := range c.object.Owners {
		was, known := old[r.UID]
		delete(old, r.UID)
		switch {
		case !known:
			added = append(added, r)
			changed = true
		case !reflect.DeepEqual(was, r):
			changed = true
			n.unblocked(was, r)
		}
	}
	for _, was := range old {
		n.unblocked(was, metav1.OwnerReference{})
	}
	if changed || len(old) > 0 {
		v.owners = c.object.Owners
		n.attach(v, added)
		for uid := range old {
			if owner, known := n.vertices[uid]; known {
				delete(owner.dependents, v)
			}
		}
	}
	v.dying = v.dying || c.object.Deleting
	n.transitions(c, v)
}

func blocks(r metav1.OwnerReference) bool {
	return r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
}

// unblocked queues an owner that a reference does not block any more.
func (n *naive) unblocked(was, is metav1.OwnerReference) {
	if owner, known := n.vertices[was.UID]; known && blocks(was) && !blocks(is) {
		n.queue(owner)
	}
}

func (n *naive) transitions(c change, v *vertex) {
	begins := func(finalizer string) bool {
		now := c.object.Deleting && slices.Contains(c.object.Finalizers, finalizer)
		return now && (c.before == nil || !c.before.Deleting || !slices.Contains(c.before.Finalizers, finalizer))
	}
	if begins(orphanFinalizer) {
		n.orphan = append(n.orphan, v)
		return
	}
	if begins(fgFinalizer) {
		v.marked = true
		for d := range v.dependents {
			n.queue(d)
		}
		n.queue(v)
	}
}

func (n *naive) deliverGone(c change, v *vertex, known bool) {
	if !known {
		return
	}
	id := identityOf(c.object)
	if c.virtual && v.virtual {
		if matching, others := split(v, id); len(others) > 0 {
			n.absent(id, matching)
			if v.identity == id {
				n.rename(v, others, id)
			}
			return
		}
	} else if c.virtual && v.identity != id {
		matching, _ := split(v, id)
		n.absent(id, matching)
		return
	}
	n.forget(v)
}

// forget takes a vertex out of the graph.
func (n *naive) forget(v *vertex) {
	delete(n.vertices, v.uid)
	var all []*vertex
	for d := range v.dependents {
		all = append(all, d)
	}
	for _, r := range v.owners {
		if owner, known := n.vertices[r.UID]; known {
			delete(owner.dependents, v)
		}
	}
	n.absent(v.identity, all)
	for _, r := range v.owners {
		if owner, known := n.vertices[r.UID]; known && owner.marked {
			n.queue(owner)
		}
	}
}

func (n *naive) absent(id identity, dependents []*vertex) {
	if len(dependents) > 0 {
		n.cache[id] = true
	}
	for _, d := range dependents {
		n.queue(d)
	}
}

// rename gives a virtual vertex another of the identities that its dependents
// know it by.
func (n *naive) rename(v *vertex, others []*vertex, absent identity) {
	for _, d := range others {
		for _, r := range d.owners {
			id := coordinatesOf(r, d.namespace)
			if absent.namespace == "" && id.apiVersion == absent.apiVersion && id.kind == absent.kind {
				id.namespace = ""
			}
			if r.UID == absent.uid && id != absent && !n.cache[id] {
				copied := *v
				copied.busy, copied.again = false, false
				copied.identity = id
				n.vertices[id.uid] = &copied
				n.queue(&copied)
				return
			}
		}
	}
}

// Workers: a yield between any two requests.

func (n *naive) attempt(v *vertex) task {
	return func(yield func(struct{}) bool) {
		defer func() {
			if v.busy = false; v.again {
				v.again = false
				n.queue(v)
			}
		}()
		if v.virtual {
			if now, known := n.vertices[v.uid]; !known || !now.virtual {
				return
			}
		}
		switch n.attemptItem(v, yield) {
		case noMapping, conflict, refused:
			n.retry = append(n.retry, v)
		case ok:
			if v.virtual {
				n.retry = append(n.retry, v)
			}
		}
	}
}

func (n *naive) attemptItem(v *vertex, yield func(struct{}) bool) answer {
	if v.dying && !v.marked {
		return ok
	}
	m := n.types.Resolve(v.apiVersion, v.kind)
	if m.Resolves() && m.Type.Namespaced && v.namespace == "" {
		return badScope
	}
	latest, a := n.get(v.apiVersion, v.kind, v.namespace, v.name)
	if a == noMapping {
		return a
	}
	if a == notFound || latest.UID != v.uid {
		n.virtualDelete(v)
		return notFound
	}
	yield(struct{}{})
	if v.marked {
		n.finish(v, yield)
		return ok
	}
	if v.virtual && latest.Deleting && !n.monitored(latest.Object) {
		return ok // see Predict: of a polled object nothing more is modelled
	}
	if len(latest.Owners) == 0 {
		return ok
	}
	solid, dangling, waiting, a := n.classify(v, latest.Owners, yield)
	if a != ok {
		return a
	}
	return n.act(v, latest, solid, dangling, waiting, yield)
}

func (n *naive) act(v *vertex, latest *stored, solid, dangling, waiting []types.UID, yield func(struct{}) bool) answer {
	policy := metav1.DeletePropagationBackground
	switch {
	case len(solid) > 0:
		if len(dangling)+len(waiting) > 0 {
			n.dropOwners(v.uid, append(dangling, waiting...))
		}
		return ok
	case len(waiting) > 0 && len(v.dependents) > 0:
		for d := range v.dependents {
			if d.marked {
				if a := n.unblockOwners(v.uid, v.owners); a == conflict {
					return a
				}
				yield(struct{}{})
				break
			}
		}
		policy = metav1.DeletePropagationForeground
	case slices.Contains(latest.Finalizers, orphanFinalizer):
		policy = metav1.DeletePropagationOrphan
	case slices.Contains(latest.Finalizers, fgFinalizer):
		policy = metav1.DeletePropagationForeground
	}
	a := n.deleteRequest(v.uid, latest.version, policy)
	if now, exists := n.store[v.uid]; a == conflict && exists && slices.EqualFunc(now.Owners, latest.Owners, sameReference) {
		a = n.deleteRequest(v.uid, 0, policy)
	}
	if a == notFound {
		n.virtualDelete(v)
	}
	return a
}

func sameReference(a, b metav1.OwnerReference) bool {
	return a.UID == b.UID && blocks(a) == blocks(b)
}

func (n *naive) virtualDelete(v *vertex) {
	n.moved++
	n.changes = append(n.changes, change{gone: true, virtual: true, object: graph.Object{
		APIVersion: v.apiVersion, Kind: v.kind, Namespace: v.namespace, Name: v.name, UID: v.uid,
	}})
}

func (n *naive) classify(v *vertex, refs []metav1.OwnerReference, yield func(struct{}) bool) (solid, dangling, waiting []types.UID, a answer) {
	for _, r := range refs {
		if n.cache[coordinatesOf(r, "")] || n.cache[coordinatesOf(r, v.namespace)] {
			dangling = append(dangling, r.UID)
			continue
		}
		m := n.types.Resolve(r.APIVersion, r.Kind)
		if !m.Resolves() {
			return nil, nil, nil, noMapping
		}
		if m.Type.Namespaced && v.namespace == "" {
			return nil, nil, nil, badScope
		}
		owner, found := n.get(r.APIVersion, r.Kind, v.namespace, r.Name)
		yield(struct{}{})
		switch {
		case found == notFound || owner.UID != r.UID:
			n.remember(r, v, m)
			dangling = append(dangling, r.UID)
		case owner.Deleting && slices.Contains(owner.Finalizers, fgFinalizer):
			waiting = append(waiting, r.UID)
		default:
			solid = append(solid, r.UID)
		}
	}
	return solid, dangling, waiting, ok
}

// remember puts the coordinates of an absent owner into the cache.
func (n *naive) remember(r metav1.OwnerReference, v *vertex, m graph.Mapping) {
	key := coordinatesOf(r, v.namespace)
	if !m.Type.Namespaced {
		key.namespace = ""
	}
	n.cache[key] = true
}

func (n *naive) finish(v *vertex, yield func(struct{}) bool) {
	free := true
	for d := range v.dependents {
		for _, r := range d.owners {
			if r.UID == v.uid && blocks(r) {
				free = false
				if !d.marked {
					n.queue(d)
				}
			}
		}
	}
	if free {
		n.takeOff(v.uid, fgFinalizer, yield)
	}
}

func (n *naive) takeOff(uid types.UID, finalizer string, yield func(struct{}) bool) {
	yield(struct{}{})
	o, exists := n.store[uid]
	if !exists || !slices.Contains(o.Finalizers, finalizer) {
		return
	}
	n.write(uid, func(o *graph.Object) {
		o.Finalizers = slices.DeleteFunc(slices.Clone(o.Finalizers), func(f string) bool { return f == finalizer })
	})
}

func (n *naive) orphanAll(v *vertex) task {
	return func(yield func(struct{}) bool) {
		var dependents []*vertex
		for d := range v.dependents {
			dependents = append(dependents, d)
		}
		for _, d := range dependents {
			yield(struct{}{})
			n.dropOwners(d.uid, []types.UID{v.uid})
		}
		n.takeOff(v.uid, orphanFinalizer, yield)
	}
}

// namespaces is one pass of the namespace controller.
func (n *naive) namespaces() {
	for uid, ns := range n.store {
		if ns.Kind != "Namespace" || !ns.Deleting || !ns.spec {
			continue
		}
		left := false
		for content, o := range n.store {
			if o.Namespace == ns.Name {
				n.deleteRequest(content, 0, metav1.DeletePropagationBackground)
				_, still := n.store[content]
				left = left || still
			}
		}
		if !left {
			ns.spec = false
			n.write(uid, func(*graph.Object) {})
		}
	}
}

// Scheduler.

func (n *naive) start(t task) {
	next, stop := iter.Pull(iter.Seq[struct{}](t))
	n.workers = append(n.workers, func() bool {
		if _, more := next(); more {
			return true
		}
		stop()
		return false
	})
}

func take[T any](random *rand.Rand, list *[]T) T {
	i := 0
	if random.IntN(4) == 0 {
		i = random.IntN(len(*list))
	}
	item := (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return item
}

func (n *naive) step() bool {
	var can []func()
	if len(n.changes) > 0 {
		can = append(can, func() { c := n.changes[0]; n.changes = n.changes[1:]; n.deliver(c) })
	}
	if len(n.workers) < 4 && len(n.delete) > 0 {
		can = append(can, func() {
			v := take(n.random, &n.delete)
			if v.again = v.busy; !v.busy {
				v.busy = true
				n.start(n.attempt(v))
			}
		})
	}
	if len(n.workers) < 4 && len(n.orphan) > 0 {
		can = append(can, func() { n.start(n.orphanAll(take(n.random, &n.orphan))) })
	}
	if len(n.workers) > 0 {
		can = append(can, func() {
			i := n.random.IntN(len(n.workers))
			if !n.workers[i]() {
				n.workers = slices.Delete(n.workers, i, i+1)
			}
		})
	}
	if len(n.retry) > 0 && n.random.IntN(20) == 0 {
		can = append(can, func() { n.queue(take(n.random, &n.retry)) })
	}
	if n.random.IntN(10) == 0 {
		can = append(can, n.namespaces)
	}
	if len(can) == 0 {
		return len(n.changes)+len(n.delete)+len(n.orphan)+len(n.workers) > 0
	}
	can[n.random.IntN(len(can))]()
	return true
}

// settle runs until another round of retries changes nothing.
func (n *naive) settle() {
	for quiet := 0; quiet < 2; quiet++ {
		before := n.moved
		for _, v := range n.retry {
			n.queue(v)
		}
		n.retry = nil
		n.namespaces()
		for n.step() {
		}
		if n.moved != before {
			quiet = -1
		}
	}
}

// events.

// load stores a graph; the collector has settled on what it is to know.
// Of objects that are edited it knows the state without references.
func (n *naive) load(g *graph.Graph, knows, edited func(graph.ID) bool) {
	for id := range graph.ID(g.Len()) {
		o := g.Object(id)
		emptied := o.Deleting && len(o.Finalizers) > 0 && !hasContents(g, o.Name)
		n.store[o.UID] = &stored{Object: o, version: 1, spec: o.Kind == "Namespace" && !emptied}
	}
	for id := range graph.ID(g.Len()) {
		if o := g.Object(id); knows(id) && n.monitored(o) {
			n.vertices[o.UID] = &vertex{
				identity: identityOf(o), owners: o.Owners, dependents: map[*vertex]bool{}, dying: o.Deleting,
				marked: o.Deleting && (o.Marked || slices.Contains(o.Finalizers, fgFinalizer)),
			}
		}
	}
	for id := range graph.ID(g.Len()) {
		v, known := n.vertices[g.UID(id)]
		if !known {
			continue
		}
		if edited(id) {
			v.owners = nil
		}
		n.settleOwners(v)
		if v.dying && slices.Contains(g.Finalizers(id), orphanFinalizer) {
			n.orphan = append(n.orphan, v)
		}
	}
}

func hasContents(g *graph.Graph, namespace string) bool {
	for id := range graph.ID(g.Len()) {
		if g.Namespace(id) == namespace {
			return true
		}
	}
	return false
}

// settleOwners attaches a vertex that nothing is to be done about: an owner
// that is absent leaves no vertex, one that cannot be judged a virtual one.
func (n *naive) settleOwners(v *vertex) {
	for _, r := range v.owners {
		owner, known := n.vertices[r.UID]
		if !known {
			found, a := n.get(r.APIVersion, r.Kind, v.namespace, r.Name)
			if a == notFound || a == ok && found.UID != r.UID {
				continue
			}
			owner = &vertex{identity: coordinatesOf(r, v.namespace), virtual: true, dependents: map[*vertex]bool{}}
			n.vertices[r.UID] = owner
			n.retry = append(n.retry, owner)
		}
		owner.dependents[v] = true
	}
}

func (n *naive) observeInAnyOrder(g *graph.Graph, ids []graph.ID) {
	for _, i := range n.random.Perm(len(ids)) {
		if o, exists := n.store[g.UID(ids[i])]; exists && n.monitored(o.Object) {
			n.changes = append(n.changes, change{object: o.Object})
		}
	}
}

func (n *naive) end(id types.UID) rules.State {
	o, exists := n.store[id]
	if !exists {
		return rules.State{}
	}
	return rules.State{Exists: true, Deleting: o.Deleting, Finalizers: o.Finalizers, Owners: o.Owners}
}
