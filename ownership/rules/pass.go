package rules

import (
	"maps"

	"labhub.io/teamspace/ownership/graph"
)

// marks are facts about an object that a pass has established.
type marks uint16

const (
	looksAt    marks = 1 << iota // the collector looks at it while it is live
	back                         // it is deleted and gets no finalizer for that
	fore                         // it is deleted, or being deleted, in the foreground
	orph                         // it is deleted, or being deleted, with orphan
	waits                        // at some moment it is WAITING to others
	finishes                     // the collector looks whether it still has to wait
	released                     // foregroundDeletion is taken off
	goes                         // it ceases to exist
	goesPlain                    // the same, while dependents may still name it
	emptied                      // the namespace controller deletes it
	depWaits                     // one of its dependents is marked deletingDependents
	collection                   // the collector deletes it
	goesIfDies                   // once it is being deleted, it ceases to exist
)

const dies = back | fore | orph

// refMarks are facts about a reference that a pass has established.
type refMarks uint8

const (
	pruned   refMarks = 1 << iota // dropped by R08
	orphaned                      // dropped by F9
	freed                         // blockOwnerDeletion set to false by R09
	vanished                      // counted: the edge is not in the collector's graph any more
	cleared                       // counted: the edge does not block any more
)

// pass computes facts about all objects at once, as the least set that is
// closed under its rules. Two of them enclose every order in which several
// workers can act: one of what may happen, one of what must.
type pass struct {
	*world
	start []flags // as the events left it; the world moves on
	bits  []marks
	refs  []refMarks
	// By node: edges of the collector's graph that have not vanished, and
	// those that block and have not been cleared.
	edges, blocking []int32
	// besides counts blocking edges without those of dependents that wait
	// from the start and have no finalizers of others: see breaksCycle.
	besides []int32
	left    map[graph.ID]int
	todo    []graph.ID
	pending []bool
	judge   func(graph.ID)
	// upper is, to the pass of what must happen, that of what may.
	upper *pass
}

func newPass(w *world, start []flags) *pass {
	p := &pass{
		world: w, start: start, bits: make([]marks, w.g.Nodes()), refs: make([]refMarks, w.g.References()),
		edges: append([]int32(nil), w.dependents...), blocking: append([]int32(nil), w.blockers...),
		besides: make([]int32, w.g.Nodes()), left: map[graph.ID]int{}, pending: make([]bool, w.g.Len()),
	}
	maps.Copy(p.left, w.remaining)
	for number := range w.g.References() {
		if w.blocks(number) && !p.breaker(w.g.Edge(number).Dependent) {
			p.besides[w.g.Edge(number).Owner]++
		}
	}
	return p
}

// run establishes what is known at the start, and then everything that follows.
func (p *pass) run() {
	for id := range graph.ID(p.g.Nodes()) {
		if p.was(id, isGone) {
			p.add(id, goes|goesPlain)
			continue
		}
		p.add(id, p.initial(id))
	}
	for id := range graph.ID(p.g.Len()) {
		p.push(id)
	}
	for len(p.todo) > 0 {
		id := p.todo[len(p.todo)-1]
		p.todo = p.todo[:len(p.todo)-1]
		p.pending[id] = false
		if !p.was(id, isGone) {
			p.judge(id)
		}
	}
}

// initial is what the state of an object says by itself.
func (p *pass) initial(id graph.ID) marks {
	f := p.start[id]
	var m marks
	switch {
	case f&isDeleting == 0:
	case f&isForeground != 0:
		m |= fore | waits
	case f&isOrphan != 0:
		m |= orph
	default:
		m |= back
	}
	if f&isQueued != 0 {
		m |= looksAt
	}
	if f&isFinishing != 0 {
		m |= finishes
	}
	return m
}

// was reports whether one of the flags was set at the start.
func (p *pass) was(id graph.ID, f flags) bool { return p.start[id]&f != 0 }

// waited reports whether the object was WAITING at the start.
func (p *pass) waited(id graph.ID) bool { return p.start[id]&isWaiting == isWaiting }

// breaker reports whether the object is one that lets row R09 break a cycle,
// and is gone as soon as it is released.
func (p *pass) breaker(id graph.ID) bool {
	return p.was(id, isMarkedFirst) && !p.was(id, hasOther|isNamespace)
}

func (p *pass) has(id graph.ID, m marks) bool { return p.bits[id]&m != 0 }

func (p *pass) push(id graph.ID) {
	if !p.Virtual(id) && !p.pending[id] {
		p.pending[id] = true
		p.todo = append(p.todo, id)
	}
}

// Virtual reports whether the node is a virtual owner.
func (p *pass) Virtual(id graph.ID) bool { return p.g.Virtual(id) }

// add establishes facts about an object and has everything judged again that
// they concern.
func (p *pass) add(id graph.ID, m marks) {
	fresh := m &^ p.bits[id]
	if fresh == 0 {
		return
	}
	p.bits[id] |= m
	p.push(id)
	for _, number := range p.g.Dependents(id) {
		p.push(p.g.Edge(int(number)).Dependent)
	}
	if fresh&dies != 0 {
		for _, content := range p.contents[id] {
			p.push(content)
		}
	}
	if fresh&(goes|waits) != 0 {
		p.addToOwners(id, fresh)
	}
	if ns := p.namespace0(id); fresh&goes != 0 && ns != graph.None && !p.was(id, isGone) {
		p.left[ns]--
		p.push(ns)
	}
}

func (p *pass) namespace0(id graph.ID) graph.ID {
	if p.Virtual(id) {
		return graph.None
	}
	return p.namespace(id)
}

func (p *pass) addToOwners(id graph.ID, fresh marks) {
	first, last := p.g.ReferenceRange(id)
	for number := first; number < last; number++ {
		if p.was(id, isUnmonitored|isGone) {
			continue
		}
		if fresh&waits != 0 {
			p.add(p.g.Edge(number).Owner, depWaits)
		}
		if fresh&goes == 0 {
			continue
		}
		p.addRef(number, vanished|cleared)
		// A reference that was dropped before its object went does not tell
		// the owner, unless it blocked.
		if p.upper == nil || p.upper.refs[number]&(pruned|orphaned) == 0 {
			p.add(p.g.Edge(number).Owner, finishes)
		}
	}
}

// addRef establishes facts about a reference.
func (p *pass) addRef(number int, m refMarks) {
	if m&(pruned|orphaned) != 0 {
		m |= vanished | cleared
	}
	if m&freed != 0 {
		m |= cleared
	}
	fresh := m &^ p.refs[number]
	if fresh == 0 {
		return
	}
	p.refs[number] |= m
	e := p.g.Edge(number)
	p.push(e.Dependent)
	if p.was(e.Dependent, isUnmonitored|isGone) {
		return
	}
	if fresh&vanished != 0 {
		p.edges[e.Owner]--
	}
	if fresh&cleared != 0 && e.Blocking {
		p.blocking[e.Owner]--
		if !p.breaker(e.Dependent) {
			p.besides[e.Owner]--
		}
	}
	if e.Blocking && (p.upper == nil || p.g.Edge(p.lastTwin(number)).Blocking) {
		// Dropped or freed it has the owner looked at, waiting or not.
		p.add(e.Owner, finishes)
		if m&(pruned|orphaned|freed) != 0 {
			p.add(e.Owner, looksAt)
		}
	}
	p.push(e.Owner)
}
