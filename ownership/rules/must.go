package rules

import (
	"labhub.io/teamspace/ownership/graph"
)

// must is the pass of what happens in every order.
type must struct {
	*pass
	may *may
}

func newMust(w *world, start []flags, m *may) *must {
	p := &must{pass: newPass(w, start), may: m}
	p.judge, p.upper = p.judgeObject, m.pass
	p.run()
	return p
}

func (p *must) judgeObject(id graph.ID) {
	if ns := p.namespace(id); ns != graph.None && p.has(ns, dies) {
		p.add(id, emptied|back)
	}
	if !p.was(id, isDeleting) && !p.unmanaged0(id) && !refusesCollector(p.start[id]) {
		p.judgeReferences(id)
	}
	p.judgeOrphaned(id)
	p.judgeEnd(id)
}

// judgeOrphaned drops the references to owners that orphan for sure (F9).
func (p *must) judgeOrphaned(id graph.ID) {
	if p.was(id, isUnmonitored) {
		return
	}
	first, last := p.g.ReferenceRange(id)
	for number := first; number < last; number++ {
		owner := p.g.Edge(number).Owner
		only := p.may.bits[owner]&(dies|emptied) == orph
		if only && p.has(owner, orph) && !p.was(owner, isUnmonitored|isUnsure) {
			p.addRef(number, orphaned)
		}
	}
}

// support is what a reference is to its object in the end.
type support struct {
	// lost: from some moment on it is never solid again.
	lost bool
	// dynamic: that moment is still to come.
	dynamic bool
	// noticed: the collector looks at the object at that moment or after it.
	noticed bool
}

func (p *must) support(number int) support {
	e := p.g.Edge(number)
	static := p.staticClass(number)
	if static.Possible&errorClasses != 0 {
		return support{}
	}
	switch {
	case static.Class == Absent, !e.Linked, p.was(e.Owner, isGone):
		return support{lost: true, noticed: p.notices(e) && !p.was(e.Owner, isGone)}
	case p.has(e.Owner, goes):
		return support{lost: true, dynamic: true, noticed: p.notices(e)}
	case !p.staysWaiting(number, e):
		return support{}
	case p.waited(e.Owner):
		return support{lost: true, noticed: p.notices(e)}
	default:
		return support{lost: true, dynamic: true, noticed: p.notices(e)}
	}
}

// notices reports whether what surely becomes of the owner of that uid has the
// collector look at the dependent: it ceases to exist, it starts to wait, or it
// is looked at while it waits and this reference blocks it.
func (p *must) notices(e graph.Edge) bool {
	if p.was(e.Dependent, isUnmonitored) {
		return false
	}
	if p.was(e.Owner, isUnmonitored) {
		return p.has(e.Owner, goes) && e.Linked && p.polledSurely(e.Owner)
	}
	if p.has(e.Owner, goes) {
		return true
	}
	if p.waited(e.Owner) {
		return e.Blocking && p.has(e.Owner, finishes) && !p.was(e.Owner, isUnsure)
	}
	return p.has(e.Owner, waits) || p.waitsOrGoes(e.Owner)
}

// waitsOrGoes: the object is surely deleted, and whatever the way it ends as
// gone or as waiting.
func (p *must) waitsOrGoes(id graph.ID) bool {
	return p.has(id, collection) && !p.may.has(id, orph) && !p.was(id, ignoresPolicy|hasOther|isNamespace)
}

// staysWaiting: once the owner is being deleted it either waits or is gone, as
// seen from this reference. An owner with finalizers of others becomes solid
// again when it is released, unless this very reference forbids that.
func (p *must) staysWaiting(number int, e graph.Edge) bool {
	if p.waitsOrGoes(e.Owner) || p.has(e.Owner, waits) && !p.was(e.Owner, hasOther|isNamespace) {
		return true
	}
	blocks := e.Blocking && p.may.refs[number]&freed == 0 && !p.was(e.Dependent, isUnmonitored) && !p.was(e.Owner, isUnsure)
	return p.has(e.Owner, waits) && blocks && !p.may.has(e.Owner, emptied|back|orph)
}

func (p *must) judgeReferences(id graph.ID) {
	first, last := p.g.ReferenceRange(id)
	all := losses{all: last > first}
	for number := first; number < last; number++ {
		if p.staticClass(number).Possible&errorClasses != 0 {
			return
		}
		all.add(p.support(number))
		// Orphaning, or R16, may take the last reference and leave a free object.
		free := p.may.refs[number]&orphaned != 0 || p.was(id, isTwinned) && p.may.refs[number]&pruned != 0
		all.all = all.all && !free
	}
	polled := p.was(id, isPolled) && p.was(id, isQueued)
	looked := polled || !all.unnoticed && (all.noticed || p.was(id, isQueued))
	if all.all && looked {
		p.judgeDelete(id)
	}
	if !p.may.has(id, dies) {
		p.judgePrune(id, first, last)
	}
}

// losses sums up the supports of an object: all of them are lost, the loss of
// one is noticed, the loss of one is still to come and will not be.
type losses struct{ all, noticed, unnoticed bool }

func (l *losses) add(s support) {
	l.all = l.all && s.lost
	l.noticed = l.noticed || s.lost && s.noticed
	l.unnoticed = l.unnoticed || s.dynamic && !s.noticed
}

// judgeDelete: the collector surely deletes the object. How, only the pass of
// what may happen can exclude.
func (p *must) judgeDelete(id graph.ID) {
	if p.refusesUnblock(id) {
		return
	}
	p.add(id, collection)
	how := p.may.bits[id] & dies
	if p.may.has(id, emptied) {
		how |= back
	}
	switch how {
	case fore:
		p.add(id, p.deleted(id, fore))
	case back, orph:
		p.add(id, how)
	}
	p.judgeBreaker(id, how)
}

// refusesUnblock reports whether the patch of R09 may be refused: of references
// with one uid it writes the flags of all into the first, and two controllers
// the API server does not accept (R16). The object then stays, as does one that
// has lost its references that way.
func (p *must) refusesUnblock(id graph.ID) bool {
	if !p.may.has(id, depWaits) || !p.was(id, isTwinned|isVirtual) {
		return false
	}
	if p.was(id, isVirtual) {
		return true // see wipe
	}
	first, last := p.g.ReferenceRange(id)
	for number := first; number < last; number++ {
		if c := p.g.Reference(number).Controller; c != nil && *c {
			return true
		}
	}
	return false
}

// judgeBreaker: row R09 frees the references of an object that has a marked
// dependent. Either such a dependent is still there when the collector looks,
// and the references are freed; or all of them are gone, and then nothing
// blocks the object and it goes.
func (p *must) judgeBreaker(id graph.ID, how marks) {
	// Of twins the patch frees only some (R16).
	if how&orph != 0 || p.was(id, isForeground|isUnmonitored|isTwinned) {
		return
	}
	marked, stays := false, false
	for _, number := range p.g.Dependents(id) {
		dependent := p.g.Edge(int(number)).Dependent
		if !p.was(dependent, isMarkedFirst) || p.was(dependent, isGone) {
			continue
		}
		marked = marked || p.breaker(dependent)
		stays = stays || !p.may.has(dependent, goes) && p.may.refs[number]&orphaned == 0
	}
	if how == fore && stays {
		p.free(id)
		return
	}
	if marked && p.besides[id] == 0 && !p.was(id, hasOther|isNamespace) {
		first, last := p.g.ReferenceRange(id)
		for number := first; number < last; number++ {
			p.addRef(number, cleared)
		}
	}
}

// judgePrune: an object that surely lives on loses what surely dangles, if one
// other reference is surely solid all the time.
func (p *must) judgePrune(id graph.ID, first, last int) {
	for number := first; number < last; number++ {
		s := p.support(number)
		if !s.lost || !s.noticed && (s.dynamic || !p.was(id, isQueued)) {
			continue
		}
		for other := first; other < last; other++ {
			if other != number && p.alwaysSolid(other) {
				p.dropUID(first, last, p.g.Edge(number).Owner, pruned)
				break
			}
		}
	}
}

func (p *must) alwaysSolid(number int) bool {
	e := p.g.Edge(number)
	return p.staticClass(number).Possible == Classes(Solid) && e.Linked && !p.was(e.Owner, isGone) &&
		!p.waited(e.Owner) && !p.may.has(e.Owner, waits|goes) && p.may.refs[number]&orphaned == 0
}

// judgeEnd: whether an object that is deleted comes to its end whatever the
// way it is deleted in.
func (p *must) judgeEnd(id graph.ID) {
	observed := !p.was(id, isUnmonitored)
	ways := p.may.bits[id]
	free := observed && p.blocking[id] == 0 && !p.was(id, isMuted) && (!p.waited(id) || p.has(id, finishes|looksAt))
	if free && ways&fore != 0 {
		p.add(id, released)
	}
	if p.was(id, hasOther) || p.was(id, isNamespace) && (p.left[id] > 0 || p.was(id, isUnread)) {
		return
	}
	ends := p.has(id, emptied) || (ways&fore == 0 || free) && (ways&orph == 0 || observed)
	if !ends {
		return
	}
	p.add(id, goesIfDies)
	if p.has(id, dies|collection|emptied) {
		p.add(id, goes)
	}
}
