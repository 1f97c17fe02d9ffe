package rules

import (
	"labhub.io/teamspace/ownership/graph"
)

// apply lets one event happen.
func (w *world) apply(e Event) {
	switch e.kind {
	case restarted:
		w.restart()
	case created:
		w.create(e.objects)
	case reconsidered:
		for _, id := range e.objects {
			w.look(id, false)
		}
	case unheld:
		for _, id := range e.objects {
			if !w.any(id, isGraceful) { // that has none
				w.flags[id] &^= hasOther
				w.removeIfFree(id, F12)
			}
		}
	case unread:
		for _, id := range e.objects {
			w.flags[id] |= isUnread
		}
	case deleted:
		for _, id := range e.objects {
			w.delete(id, e.policy, F1)
		}
	}
}

// create lets the collector observe objects. Where one of them owns another it
// may be taken for a virtual owner first, and then it is looked at.
func (w *world) create(objects []graph.ID) {
	created := make(map[graph.ID]bool, len(objects))
	for _, id := range objects {
		created[id] = true
	}
	for _, id := range objects {
		w.observe(id)
		first, last := w.g.ReferenceRange(id)
		for number := first; number < last; number++ {
			if owner := w.g.Edge(number).Owner; created[owner] && owner != id {
				w.lookVirtual(owner)
			}
		}
	}
}

// restart: the collector's cache and mapper start empty, so that of what they
// may remember nothing is left; and it observes every object.
func (w *world) restart() {
	w.begins = true
	for i, c := range w.static {
		if c.Class != 0 {
			w.static[i] = only(c.Class, c.Rule)
		}
	}
	for id := range graph.ID(w.g.Len()) {
		if w.any(id, isGone) {
			continue
		}
		f := &w.flags[id]
		if *f&isWaiting != isWaiting {
			*f &^= isMarked | isMarkedFirst
		}
		w.observe(id)
		if w.dependents[id] > 0 {
			w.lookVirtual(id)
		}
		w.restartTransitions(id)
	}
}

// lookVirtual has an object looked at, perhaps, since it may be taken for a
// virtual owner before it is observed. The collector then believes it to be in
// the namespace of the dependent that named it: a cluster-scoped object can be
// judged by references of bad scope that way, and deleted for them (R05). Nor
// does it know that the object is being deleted (R03).
func (w *world) lookVirtual(id graph.ID) {
	w.look(id, false)
	w.flags[id] |= isVirtual
	if w.is(id, isDeleting) && !w.any(id, isUnmonitored) {
		w.flags[id] |= isFresh
	}
	if w.g.Namespace(id) != "" {
		return
	}
	for _, number := range w.g.Dependents(id) {
		if w.inGraph(int(number)) && w.g.Namespace(w.g.Edge(int(number)).Dependent) != "" {
			w.flags[id] |= isMistaken
			return
		}
	}
}

// restartTransitions: an object that is observed for the first time while it
// waits or orphans is taken up at once. The workers begin when everything was
// read, which is before the graph is built, so that they may release it without
// its dependents (F3, F9), or orphan only some of them. Whether dependents that
// do not block it are queued with it depends on who is observed first, too.
func (w *world) restartTransitions(id graph.ID) {
	if !w.is(id, isDeleting) || w.any(id, isUnmonitored) {
		return
	}
	if !w.any(id, isOrphan|isForeground) {
		return
	}
	if w.dependents[id] > 0 {
		w.flags[id] |= isUnsure
	}
	if w.is(id, isOrphan) {
		w.enqueue(id, isOrphaning)
		return
	}
	w.enqueue(id, isFinishing)
	for _, number := range w.g.Dependents(id) {
		w.look(w.g.Edge(int(number)).Dependent, false)
	}
}

// observe is section 1.3: whether the collector looks at an object because it
// sees it, or references of it, for the first time.
func (w *world) observe(id graph.ID) {
	if w.any(id, isGone|isUnmonitored) {
		return
	}
	first, last := w.g.ReferenceRange(id)
	for number := first; number < last; number++ {
		switch sure, may := w.attracts(number, first); {
		case sure:
			w.enqueue(id, isQueued)
		case may:
			w.look(id, false)
		}
	}
}

// attracts reports whether a new reference makes the collector look at its
// dependent: because the owner is proven absent, or because the owner was
// observed under other coordinates. One that matches does not, whatever state
// the owner is in (K7-late), nor does one whose kind does not resolve (D3).
func (w *world) attracts(number, first int) (sure, may bool) {
	e := w.g.Edge(number)
	observed := !w.g.Virtual(e.Owner) && !w.any(e.Owner, isUnmonitored|isGone)
	for earlier := first; earlier < number; earlier++ {
		if w.g.Edge(earlier).Owner == e.Owner && !w.g.SameCoordinates(earlier, number) {
			return true, false
		}
	}
	if observed {
		return !e.Matches, w.disputed(e.Owner)
	}
	static := w.staticClass(number)
	if static.Class == Solid && (!e.Linked || w.any(e.Owner, isGone)) || static.Class == Absent {
		return true, false
	}
	return false, static.Doubt == D1 || w.disputed(e.Owner)
}

// disputed reports whether dependents disagree on an owner's coordinates, so
// that a virtual node for it may at some moment mismatch a good reference.
func (w *world) disputed(owner graph.ID) bool {
	if w.disputes[owner] == 0 {
		w.disputes[owner] = 1
		dependents := w.g.Dependents(owner)
		for _, number := range dependents {
			if !w.agree(int(dependents[0]), int(number)) {
				w.disputes[owner] = 2
			}
		}
	}
	return w.disputes[owner] == 2
}

func (w *world) agree(a, b int) bool {
	return w.g.SameCoordinates(a, b) &&
		w.g.Namespace(w.g.Edge(a).Dependent) == w.g.Namespace(w.g.Edge(b).Dependent)
}
