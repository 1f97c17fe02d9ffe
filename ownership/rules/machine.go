package rules

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/graph"
)

// State is an object as it is left.
type State struct {
	Exists     bool
	Deleting   bool
	Finalizers []string
	Owners     []metav1.OwnerReference
}

// machine is a collector with one worker that does everything at once, and a
// namespace controller beside it.
type machine struct{ *world }

// newMachine runs the world to its end. Work that is uncertain is done.
func newMachine(w *world) *machine {
	m := &machine{w}
	for id := range graph.ID(w.g.Len()) {
		if w.any(id, mayBeQueued) {
			w.enqueue(id, isQueued)
		}
	}
	for at := 0; at < len(w.queue); at++ {
		m.work(w.queue[at])
	}
	w.queue = nil
	return m
}

// work does what the flags of the object ask for. The queue ends: each object
// is deleted once, each reference dropped or unblocked once, and only such a
// change queues anything.
func (m *machine) work(id graph.ID) {
	todo := m.flags[id]
	m.flags[id] &^= isEmptying | isOrphaning | isFinishing | isQueued
	if todo&isGone != 0 || todo&(isEmptying|isOrphaning|isFinishing|isQueued) == 0 {
		return
	}
	switch {
	case todo&isEmptying != 0:
		for _, content := range m.contents[id] {
			m.delete(content, metav1.DeletePropagationBackground, N0)
		}
		m.removeIfFree(id, F12)
		todo &^= isEmptying
	case todo&isOrphaning != 0:
		m.orphan(id)
		todo &^= isOrphaning
	default:
		m.attempt(id)
		return
	}
	if left := todo & (isOrphaning | isFinishing | isQueued); left != 0 {
		m.enqueue(id, left)
	}
}

// orphan is row F9.
func (m *machine) orphan(id graph.ID) {
	for _, number := range m.g.Dependents(id) {
		if m.inGraph(int(number)) {
			m.drop(int(number), Orphaned, F9)
		}
	}
	m.release(id, isOrphan, F9)
}

// release takes one of the collector's finalizers off.
func (m *machine) release(id graph.ID, finalizer flags, rule Rule) {
	if !m.any(id, finalizer) {
		return
	}
	m.flags[id] &^= finalizer
	m.note(id, Released, rule, -1)
	m.removeIfFree(id, F12)
}

// attempt is the collector's look at one object.
func (m *machine) attempt(id graph.ID) {
	action, rule := m.decide(id)
	switch action {
	case FinishForeground:
		m.finish(id)
	case Retry:
		m.flags[id] |= isRetrying
	case Prune:
		m.prune(id)
	case Delete:
		if rule == R09 && m.waitingDependent(id) {
			m.unblockAll(id)
		}
		m.delete(id, deletePolicy(rule, m.any(id, isForeground), m.any(id, isOrphan)), rule)
	}
}

// finish is rows F2 and F3: dependents that block are looked at, and without
// any the object is released. The collector looks at them each time that one
// of them goes; once is enough here, where nothing comes in between.
func (m *machine) finish(id graph.ID) {
	if m.blockers[id] == 0 {
		m.release(id, isForeground, F3)
		return
	}
	if m.any(id, isScanned) {
		return
	}
	m.flags[id] |= isScanned
	for _, number := range m.g.Dependents(id) {
		dependent := m.g.Edge(int(number)).Dependent
		if m.blocks(int(number)) && !m.any(dependent, isMarked) {
			m.enqueue(dependent, isQueued)
		}
	}
}

// prune drops every reference whose uid is that of an absent or waiting one.
func (m *machine) prune(id graph.ID) {
	first, last := m.g.ReferenceRange(id)
	bad := map[graph.ID]bool{}
	for number := first; number < last; number++ {
		if !m.dropped[number] && m.classify(number).Class != Solid {
			bad[m.g.Edge(number).Owner] = true
		}
	}
	for number := first; number < last; number++ {
		if bad[m.g.Edge(number).Owner] {
			m.drop(number, Pruned, R08)
		}
	}
}

func (m *machine) unblockAll(id graph.ID) {
	first, last := m.g.ReferenceRange(id)
	for number := first; number < last; number++ {
		m.unblock(number)
	}
}

// waitingDependent reports whether a dependent is marked deletingDependents.
func (m *machine) waitingDependent(id graph.ID) bool {
	for _, number := range m.g.Dependents(id) {
		if m.inGraph(int(number)) && m.any(m.g.Edge(int(number)).Dependent, isMarked) {
			return true
		}
	}
	return false
}

// decide is Decide without its words.
func (m *machine) decide(id graph.ID) (Action, Rule) {
	var t tally
	first, last := m.g.ReferenceRange(id)
	for number := first; number < last; number++ {
		if !m.dropped[number] {
			t.count(m.classify(number).Class)
		}
	}
	action, rule := decide(t, m.unmanaged(id), m.seenDeleting(id), m.any(id, isMarked), m.dependents[id] > 0)
	if action == Delete && refusesCollector(m.flags[id]) {
		return Retry, R12
	}
	return action, rule
}

// classify is Classify for a reference of the graph.
func (m *machine) classify(number int) Classification {
	c := m.staticClass(number)
	if c.Class != Solid {
		return c
	}
	e := m.g.Edge(number)
	f := m.flags[e.Owner]
	switch {
	case !e.Linked || f&isGone != 0:
		return only(Absent, K4).with(c)
	case f&isWaiting == isWaiting:
		return only(Waiting, K7).with(c)
	default:
		return c
	}
}

// with keeps the doubt of the class that the type alone gives.
func (c Classification) with(static Classification) Classification {
	if static.Possible.Has(Absent) {
		return c.or(Absent, static.Doubt)
	}
	return c
}

// subject gives an object to Decide.
func (m *machine) subject(id graph.ID) Subject {
	s := Subject{
		Unmonitored: m.unmanaged(id), Deleting: m.seenDeleting(id), IgnoresPolicy: m.any(id, ignoresPolicy),
		Finalizers: presentFinalizers(m.flags[id], m.g.Finalizers(id)),
		Dependents: int(m.dependents[id]), Blocking: int(m.blockers[id]),
	}
	first, last := m.g.ReferenceRange(id)
	for number := first; number < last; number++ {
		if !m.dropped[number] {
			s.References = append(s.References, Judged{m.g.UID(m.g.Edge(number).Owner), m.classify(number)})
		}
	}
	for _, number := range m.g.Dependents(id) {
		if m.inGraph(int(number)) && m.any(m.g.Edge(int(number)).Dependent, isMarked) {
			s.WaitingDependents++
		}
	}
	return s
}

// state returns the object as it is now.
func (m *machine) state(id graph.ID) State {
	if m.any(id, isGone) {
		return State{}
	}
	s := State{
		Exists: true, Deleting: m.any(id, isDeleting),
		Finalizers: presentFinalizers(m.flags[id], m.g.Finalizers(id)),
	}
	first, last := m.g.ReferenceRange(id)
	for number := first; number < last; number++ {
		if m.dropped[number] {
			continue
		}
		ref := m.g.Reference(number).OwnerReference
		if m.unblocked[number] {
			ref.BlockOwnerDeletion = new(bool)
		}
		s.Owners = append(s.Owners, ref)
	}
	return s
}
