package rules

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/graph"
)

// flags is what is true of an object at one moment.
type flags uint32

const (
	isUnmonitored flags = 1 << iota // the collector does not observe it
	ignoresPolicy                   // no foregroundDeletion or orphan for it
	hasOther                        // it has finalizers of others, which stay
	isGraceful                      // it is being deleted without finalizers: within its grace period
	isNamespace                     // it is a Namespace object
	isDeleting                      // deletionTimestamp is set
	isForeground                    // finalizer foregroundDeletion
	isOrphan                        // finalizer orphan
	isRewritten                     // a DELETE changed its finalizers
	isGone                          // it does not exist any more
	isMarked                        // the collector's node is marked deletingDependents
	isMarkedFirst                   // the same, before the collector looked at anything else
	isQueued                        // the collector surely looks at it
	mayBeQueued                     // the collector looks at it, or not
	isFinishing                     // the collector looks whether it still has to wait
	isOrphaning                     // the collector drops the references to it
	isEmptying                      // the namespace controller deletes its contents
	isScanned                       // while it waits, its blocking dependents were queued
	isPolled                        // it is not observed, but owns what is
	isFresh                         // a worker may not have seen yet that it is being deleted
	isTwinned                       // it names one uid more than once
	isVirtual                       // it may be looked at before it is observed
	isMistaken                      // it may be looked at as if it were in a dependent's namespace
	isUnsure                        // a new collector may finish it before it knows all dependents
	isMuted                         // references block it whose end the collector overlooks
	isRetrying                      // the collector looks at it again and again (R06)
	isUnread                        // a namespace that may hold more than is known
)

const isWaiting = isDeleting | isForeground

// world is a graph and what has become of it, with the work that the collector
// and the namespace controller have before them.
type world struct {
	g     *graph.Graph
	flags []flags
	// static holds, by kind and scope of the dependent, the class of a
	// reference whose coordinates lead to its owner, alive.
	static []Classification
	// contents lists the objects of a namespace by its Namespace object,
	// namespaceOf is the way back; both are nil without Namespace objects.
	contents    map[graph.ID][]graph.ID
	namespaceOf []graph.ID
	remaining   map[graph.ID]int // contents that still exist
	// By reference: it does not exist any more, it does not block any more.
	dropped, unblocked []bool
	// By node: references with its uid that the collector's graph has, and
	// those of them that block.
	dependents, blockers []int32
	// disputes remembers, by node, whether dependents disagree on it: 0 not
	// known, 1 no, 2 yes.
	disputes []uint8
	busy     bool // something was queued, for sure or perhaps
	begins   bool // the collector has just started
	queue    []graph.ID
	effects  []Effect
}

func newWorld(g *graph.Graph) *world {
	w := &world{
		g: g, flags: make([]flags, g.Nodes()),
		dropped: make([]bool, g.References()), unblocked: make([]bool, g.References()),
		dependents: make([]int32, g.Nodes()), blockers: make([]int32, g.Nodes()),
		disputes: make([]uint8, g.Nodes()),
	}
	for id := range graph.ID(g.Len()) {
		w.flags[id] = w.initial(id)
	}
	for id := g.Len(); id < g.Nodes(); id++ {
		w.flags[id] = isGone
	}
	w.classifyKinds()
	w.countDependents()
	w.resume()
	w.fillNamespaces()
	return w
}

func (w *world) initial(id graph.ID) flags {
	var f flags
	_, _, m := w.g.Kind(id)
	for _, set := range [...]struct {
		flag flags
		when bool
	}{
		{isUnmonitored, m.Type.Unmonitored},
		{ignoresPolicy, m.Type.IgnoresPolicy},
		{isNamespace, w.g.IsNamespace(id)},
		{isDeleting, w.g.Deleting(id)},
		{isMarked, w.g.Marked(id) && w.g.Deleting(id)},
	} {
		if set.when {
			f |= set.flag
		}
	}
	f |= finalizerFlags(w.g.Finalizers(id))
	if f&(isDeleting|isNamespace|hasOther|isForeground|isOrphan) == isDeleting {
		f |= hasOther | isGraceful
	}
	if f&isWaiting == isWaiting && f&isUnmonitored == 0 {
		f |= isMarked
	}
	if f&isMarked != 0 {
		f |= isMarkedFirst
	}
	return f
}

func finalizerFlags(finalizers []string) flags {
	var f flags
	for _, name := range finalizers {
		switch name {
		case metav1.FinalizerDeleteDependents:
			f |= isForeground
		case metav1.FinalizerOrphanDependents:
			f |= isOrphan
		default:
			f |= hasOther
		}
	}
	return f
}

// classifyKinds asks Classify once for each kind that references use, for a
// namespaced dependent and a cluster-scoped one.
func (w *world) classifyKinds() {
	for number := range w.g.References() {
		at := int(w.g.Edge(number).Kind) * 2
		for at+1 >= len(w.static) {
			w.static = append(w.static, Classification{})
		}
		if w.static[at].Class != 0 {
			continue
		}
		ref := w.g.Reference(number)
		f := Facts{Mapping: ref.Mapping, Answer: Found, UID: ref.UID}
		w.static[at] = Classify("", ref.OwnerReference, f)
		w.static[at+1] = Classify("any", ref.OwnerReference, f)
	}
}

// staticClass is the class of a reference if its coordinates lead to its owner
// and that is alive.
func (w *world) staticClass(number int) Classification {
	e := w.g.Edge(number)
	at := int(e.Kind) * 2
	if w.g.Namespace(e.Dependent) != "" {
		at++
	}
	return w.static[at]
}

func (w *world) fillNamespaces() {
	byName := map[string]graph.ID{}
	for id := range graph.ID(w.g.Len()) {
		if w.flags[id]&isNamespace != 0 {
			byName[w.g.Name(id)] = id
		}
	}
	if len(byName) == 0 {
		return
	}
	w.contents = make(map[graph.ID][]graph.ID, len(byName))
	w.remaining = make(map[graph.ID]int, len(byName))
	w.namespaceOf = make([]graph.ID, w.g.Len())
	for id := range graph.ID(w.g.Len()) {
		w.namespaceOf[id] = graph.None
		if ns, ok := byName[w.g.Namespace(id)]; ok && w.g.Namespace(id) != "" {
			w.namespaceOf[id] = ns
			w.contents[ns] = append(w.contents[ns], id)
			w.remaining[ns]++
		}
	}
	for _, ns := range slices.Sorted(maps.Values(byName)) {
		if w.any(ns, isDeleting) {
			w.enqueue(ns, isEmptying)
		}
	}
}

// namespace returns the Namespace object that holds the object, if it is known.
func (w *world) namespace(id graph.ID) graph.ID {
	if w.namespaceOf == nil {
		return graph.None
	}
	return w.namespaceOf[id]
}

// is reports whether all the flags are set.
func (w *world) is(id graph.ID, f flags) bool { return w.flags[id]&f == f }

// any reports whether one of the flags is set.
func (w *world) any(id graph.ID, f flags) bool { return w.flags[id]&f != 0 }

// inGraph reports whether the collector's graph has the reference: that of an
// object it observes.
func (w *world) inGraph(number int) bool {
	return !w.dropped[number] && !w.any(w.g.Edge(number).Dependent, isUnmonitored|isGone)
}

// blocks reports whether the reference holds an owner that waits.
func (w *world) blocks(number int) bool {
	return w.inGraph(number) && !w.unblocked[number] && w.g.Edge(number).Blocking
}

// poll starts to poll an object that is not observed, if somebody names it by
// coordinates that lead to it; surely so if nobody knows it by others.
func (w *world) poll(id graph.ID) {
	reached := false
	for _, number := range w.g.Dependents(id) {
		reached = reached || w.inGraph(int(number)) && w.g.Edge(int(number)).Linked
	}
	if !reached {
		return
	}
	w.flags[id] |= isPolled
	if w.disputed(id) {
		w.flags[id] |= mayBeQueued
		return
	}
	w.enqueue(id, isQueued)
}

// unmanaged reports whether the collector leaves the object alone because it
// does not observe it. It polls one that observed objects named as owner (R20),
// for ever, and treats it like any other.
func (w *world) unmanaged(id graph.ID) bool {
	return w.any(id, isUnmonitored) && !w.any(id, isPolled)
}

// seenDeleting reports whether the collector knows that the object is being
// deleted. Of what it polls it never learns that, and goes on judging it (R03).
func (w *world) seenDeleting(id graph.ID) bool {
	return w.any(id, isDeleting) && !w.any(id, isUnmonitored)
}

// refusesCollector reports whether the API server refuses the collector's DELETE,
// again and again: that of an Event which only the collector's own finalizers hold.
// They go with the request, nothing holds the object any more, and then the
// resourceVersion of the precondition is compared with that of an empty object (R12).
func refusesCollector(f flags) bool {
	return f&ignoresPolicy != 0 && f&(isForeground|isOrphan) != 0 && f&hasOther == 0
}

func (w *world) countDependents() {
	lastNamedBy := make([]graph.ID, w.g.Nodes())
	for number := range w.g.References() {
		e := w.g.Edge(number)
		if lastNamedBy[e.Owner] == e.Dependent+1 {
			w.flags[e.Dependent] |= isTwinned
		}
		lastNamedBy[e.Owner] = e.Dependent + 1
		if !w.inGraph(number) {
			continue
		}
		w.dependents[e.Owner]++
		if e.Blocking {
			w.blockers[e.Owner]++
		}
	}
	for number := range w.g.References() {
		if w.blocks(number) && !w.tells(number) {
			w.flags[w.g.Edge(number).Owner] |= isMuted
		}
	}
}

// resume enqueues what the collector tries again and again without being told:
// objects that it polls, and orphaning that has not succeeded yet.
func (w *world) resume() {
	for id := range graph.ID(w.g.Len()) {
		switch {
		case w.any(id, isUnmonitored):
			w.poll(id)
		case w.is(id, isDeleting|isOrphan) && !w.any(id, isUnmonitored):
			w.enqueue(id, isOrphaning)
		}
	}
}

// enqueue gives the collector, or the namespace controller, something to do.
func (w *world) enqueue(id graph.ID, what flags) {
	if w.any(id, isGone) || w.is(id, what) {
		return
	}
	w.flags[id] |= what
	w.busy = true
	w.queue = append(w.queue, id)
}
