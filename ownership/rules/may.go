package rules

import (
	"slices"

	"labhub.io/teamspace/ownership/graph"
)

// may is the pass of everything that can happen in some order. Where a rule
// needs that something cannot happen it asks an earlier, coarser pass.
type may struct {
	*pass
	earlier *may
}

func newMay(w *world, start []flags, earlier *may) *may {
	p := &may{pass: newPass(w, start), earlier: earlier}
	p.judge = p.judgeObject
	for id := range graph.ID(w.g.Len()) {
		if p.was(id, mayBeQueued) {
			p.bits[id] |= looksAt
		}
		if p.was(id, isMarked) {
			p.addToOwners(id, waits)
		}
		if p.was(id, isGone) {
			p.judgeTwins(id)
		}
	}
	p.run()
	return p
}

// view is what may be seen of one reference at some moment.
type view struct{ absent, waiting, solid, failed, orphaned bool }

func (v view) dangling() bool { return v.absent || v.waiting }

func (p *may) view(number int) view {
	e := p.g.Edge(number)
	static := p.staticClass(number)
	v := view{
		absent:   static.Possible.Has(Absent),
		failed:   static.Possible&^errorClasses == 0,
		orphaned: p.refs[number]&orphaned != 0,
	}
	switch {
	case static.Possible.Has(BadScope) && p.was(e.Dependent, isMistaken):
		v.failed, v.absent = false, true
		v.solid, v.waiting = !p.was(e.Owner, isGone), p.has(e.Owner, waits)
	case !static.Possible.Has(Solid):
	case !e.Linked || p.was(e.Owner, isGone):
		v.absent = true
	default:
		v.absent = v.absent || p.mayBeAbsent(number, e)
		v.waiting = p.has(e.Owner, waits)
		v.solid = !p.waited(e.Owner) || p.was(e.Owner, hasOther|isNamespace) && p.has(e.Owner, released|emptied)
	}
	return v
}

// mayBeAbsent: an owner that waits cannot go while this reference holds it.
func (p *may) mayBeAbsent(number int, e graph.Edge) bool {
	if p.was(e.Dependent, isUnmonitored) {
		return p.has(e.Owner, goes)
	}
	return p.has(e.Owner, goesPlain) && !p.holds(number, e)
}

// holds reports whether an owner that is deleted at all stays WAITING until the
// dependent is deleted: only foreground deletion can take it, and nothing takes
// the blocking reference away first.
func (p *may) holds(number int, e graph.Edge) bool {
	before := p.earlier
	return before != nil && e.Blocking && before.refs[number]&(pruned|orphaned|freed) == 0 &&
		!before.has(e.Owner, back|orph|emptied) && !p.was(e.Owner, isUnmonitored|isUnsure)
}

func (p *may) judgeObject(id graph.ID) {
	if ns := p.namespace(id); ns != graph.None && p.has(ns, dies) {
		p.add(id, emptied|back)
	}
	p.judgeTriggers(id)
	// A worker may not have heard yet that an object is being deleted; of one that is
	// polled none ever does.
	if !p.was(id, isDeleting) || p.was(id, isFresh|isUnmonitored) {
		p.judgeReferences(id)
	}
	p.judgeOrphaned(id)
	p.judgeTwins(id)
	p.judgeEnd(id)
}

// judgeTwins: of two references with one uid the collector compares the wrong
// ones when it sees any change of the object. It may take the owner for freed,
// and the second of them for new, so that it may look at the object again.
func (p *may) judgeTwins(id graph.ID) {
	if !p.was(id, isTwinned) {
		return
	}
	first, last := p.g.ReferenceRange(id)
	changed := p.has(id, dies) || p.was(id, isGone)
	for number := first; number < last; number++ {
		changed = changed || p.refs[number]&(pruned|orphaned|freed) != 0
	}
	if !changed {
		return
	}
	p.add(id, looksAt)
	for number := first; number < last; number++ {
		if e := p.g.Edge(number); e.Blocking {
			p.add(e.Owner, looksAt|finishes)
		}
	}
}

// judgeTriggers finds what makes the collector look at an object.
func (p *may) judgeTriggers(id graph.ID) {
	if p.was(id, isUnmonitored) {
		return
	}
	first, last := p.g.ReferenceRange(id)
	for number := first; number < last; number++ {
		e := p.g.Edge(number)
		observed := !p.was(e.Owner, isUnmonitored)
		started := observed && p.has(e.Owner, waits) && !p.waited(e.Owner)
		rescanned := observed && (p.has(e.Owner, waits) || p.was(e.Owner, isMarked)) && p.has(e.Owner, finishes|looksAt) && e.Blocking
		cured := p.refs[number]&orphaned != 0 && p.staticClass(number).Possible&errorClasses != 0
		went := p.has(e.Owner, goes) && !p.was(e.Owner, isGone)
		if went || started || rescanned || cured {
			p.add(id, looksAt)
		}
	}
}

// judgeReferences is Decide on everything that may be seen of a live object.
func (p *may) judgeReferences(id graph.ID) {
	if !p.has(id, looksAt) || p.unmanaged0(id) {
		return
	}
	first, last := p.g.ReferenceRange(id)
	s := p.sum(first, last)
	if s.stuck {
		return
	}
	if s.solid > 0 {
		p.judgePrune(first, last, s.solid)
	}
	if s.dangling && s.allDangling {
		p.judgeDelete(id, s)
	}
}

// unmanaged0 is unmanaged at the start.
func (p *pass) unmanaged0(id graph.ID) bool {
	return p.was(id, isUnmonitored) && !p.was(id, isPolled)
}

// summary of the views of an object's references.
type summary struct {
	solid                            int  // references that may be solid
	stuck                            bool // an error that nothing takes away
	dangling, allDangling, allAbsent bool
	waiting                          bool
}

func (p *may) sum(first, last int) summary {
	s := summary{allDangling: true, allAbsent: true}
	var forced []graph.ID // owners of references that have to be dropped first
	for number := first; number < last; number++ {
		v := p.view(number)
		// A solid reference can be pruned with a dangling one of its uid (R16).
		dropped := p.refs[number]&(pruned|orphaned) != 0
		s.add(v, dropped)
		if !v.dangling() && dropped {
			forced = append(forced, p.g.Edge(number).Owner)
		}
	}
	if len(forced) > 0 && s.allDangling {
		s.dangling = p.outlives(first, last, forced)
	}
	return s
}

func (s *summary) add(v view, dropped bool) {
	s.stuck = s.stuck || v.failed && !v.orphaned
	s.dangling = s.dangling || v.dangling()
	s.waiting = s.waiting || v.waiting
	s.allDangling = s.allDangling && (v.dangling() || dropped)
	s.allAbsent = s.allAbsent && (v.absent || dropped)
	if v.solid {
		s.solid++
	}
}

// outlives reports whether a dangling reference is left when all references to
// the given owners have been dropped.
func (p *may) outlives(first, last int, dropped []graph.ID) bool {
	for number := first; number < last; number++ {
		if p.view(number).dangling() && !slices.Contains(dropped, p.g.Edge(number).Owner) {
			return true
		}
	}
	return false
}

// judgePrune: a dangling reference beside a solid one is dropped with all
// others of its uid (R08, R16).
func (p *may) judgePrune(first, last, solid int) {
	for number := first; number < last; number++ {
		v := p.view(number)
		if v.solid {
			solid--
		}
		if v.dangling() && solid > 0 {
			p.dropUID(first, last, p.g.Edge(number).Owner, pruned)
		}
		if v.solid {
			solid++
		}
	}
}

func (p *pass) dropUID(first, last int, owner graph.ID, how refMarks) {
	for number := first; number < last; number++ {
		if p.g.Edge(number).Owner == owner {
			p.addRef(number, how)
		}
	}
}

// judgeDelete is rows R09 to R12.
func (p *may) judgeDelete(id graph.ID, s summary) {
	if refusesCollector(p.start[id]) {
		return
	}
	p.add(id, collection)
	breaks := s.waiting && p.dependents0(id) > 0
	if breaks {
		p.add(id, p.deleted(id, fore))
		if p.has(id, depWaits) {
			p.free(id)
			p.wipe(id)
			// Of twins that merges a waiting one into an absent one (R16).
			s.allAbsent = s.allAbsent || p.was(id, isTwinned)
		}
	}
	// A new collector may not know the dependents yet (R10).
	if s.allAbsent || p.edges[id] == 0 || s.waiting && p.begins {
		p.add(id, p.deleted(id, p.ownPolicy(id)))
	}
}

// ownPolicy is row R12.
func (p *pass) ownPolicy(id graph.ID) marks {
	switch {
	case p.was(id, isOrphan):
		return orph
	case p.was(id, isForeground):
		return fore
	default:
		return back
	}
}

// deleted is what a DELETE makes of an object, by its type.
func (p *pass) deleted(id graph.ID, how marks) marks {
	if p.was(id, ignoresPolicy) {
		return back
	}
	if how == fore {
		return fore | waits
	}
	return how
}

// dependents0 counts the edges to the object at the start.
func (p *pass) dependents0(id graph.ID) int {
	n := 0
	for _, number := range p.g.Dependents(id) {
		// A new collector knows those that are deleted as soon as it begins.
		if d := p.g.Edge(int(number)).Dependent; !p.was(d, isUnmonitored) && (p.begins || !p.was(d, isGone)) {
			n++
			break
		}
	}
	return n
}

// free marks every reference of the object as unblocked.
func (p *pass) free(id graph.ID) {
	first, last := p.g.ReferenceRange(id)
	for number := first; number < last; number++ {
		p.addRef(number, freed)
	}
}

// wipe drops the references of an object of which the collector knows none yet:
// where the patch of R09 is a whole list it is an empty one.
func (p *may) wipe(id graph.ID) {
	if !p.was(id, isVirtual) {
		return
	}
	first, last := p.g.ReferenceRange(id)
	for number := first; number < last; number++ {
		p.addRef(number, pruned)
	}
}

// judgeOrphaned drops the references to owners that are orphaned (F9).
func (p *may) judgeOrphaned(id graph.ID) {
	if p.was(id, isUnmonitored) {
		return
	}
	first, last := p.g.ReferenceRange(id)
	for number := first; number < last; number++ {
		owner := p.g.Edge(number).Owner
		// A second DELETE does not call back who is orphaning already.
		if (p.has(owner, orph) || p.was(owner, isOrphaning)) && !p.was(owner, isUnmonitored) {
			p.addRef(number, orphaned)
		}
	}
}

// judgeEnd: how an object that is being deleted comes to its end.
func (p *may) judgeEnd(id graph.ID) {
	if p.has(id, waits) {
		started := !p.waited(id) || p.has(id, finishes|looksAt)
		if started && (p.blocking[id] == 0 || p.was(id, isUnsure)) && !p.was(id, isUnmonitored) {
			p.add(id, released)
		}
	}
	if !p.has(id, dies) || p.was(id, hasOther) || p.was(id, isNamespace) && p.left[id] > 0 {
		return
	}
	switch {
	case p.has(id, back|emptied) || p.has(id, released):
		p.add(id, goes|goesPlain)
	case p.has(id, orph) && p.was(id, isUnsure):
		p.add(id, goes|goesPlain)
	case p.has(id, orph) && !p.was(id, isUnmonitored):
		p.add(id, goes)
	}
}
