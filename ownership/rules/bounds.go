package rules

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/graph"
)

// bounds encloses the ends of all orders in which the collector can act.
type bounds struct {
	g     *graph.Graph
	start []flags
	may   *may
	must  *must
}

// refinements is how often the pass of what may happen is repeated with what
// the one before it excludes.
const refinements = 2

func newBounds(w *world) *bounds {
	b := &bounds{g: w.g, start: slices.Clone(w.flags)}
	for range refinements {
		b.may = newMay(w, b.start, b.may)
		b.may.earlier = nil
	}
	b.must = newMust(w, b.start, b.may)
	return b
}

// fates is the set of ends of an object.
func (b *bounds) fates(id graph.ID) Fate {
	f := b.start[id]
	if f&isGone != 0 {
		return Gone
	}
	var set Fate
	if f&isDeleting == 0 && !b.must.has(id, dies|collection|emptied) {
		set |= Live
	}
	if b.may.has(id, goes) {
		set |= Gone
	}
	if b.may.has(id, dies) && !b.must.has(id, goesIfDies) {
		set |= Dying
	}
	return set
}

// reference is the set of ends of a reference.
func (b *bounds) reference(number int) ReferenceFate {
	const drops = pruned | orphaned
	may, must := b.may.refs[number], b.must.refs[number]
	var set ReferenceFate
	if must&drops != 0 {
		return Dropped
	}
	if may&drops != 0 {
		set |= Dropped
	}
	frees := may&freed != 0 && b.g.Edge(number).Blocking
	if frees {
		set |= Freed
	}
	if !frees || must&freed == 0 {
		set |= Kept
	}
	if b.merges(number) {
		set |= Freed | Dropped
	}
	return set
}

// merges reports whether the patch of R09 may change a reference that has
// others of its uid beside it: it merges them into the first, and if two are
// alike after that, one of them goes (R16).
func (b *bounds) merges(number int) bool {
	id := b.g.Edge(number).Dependent
	if b.start[id]&isTwinned == 0 {
		return false
	}
	owner := b.g.Edge(number).Owner
	first, last := b.g.ReferenceRange(id)
	twins, freedOne := 0, false
	for other := first; other < last; other++ {
		if b.g.Edge(other).Owner == owner {
			twins++
			freedOne = freedOne || b.may.refs[other]&freed != 0
		}
	}
	return twins > 1 && freedOne
}

// finalizers lists what a dying object may be left with.
func (b *bounds) finalizers(id graph.ID) [][]string {
	f, stored := b.start[id], b.g.Finalizers(id)
	now := presentFinalizers(f|isDeleting, stored)
	_, _, m := b.g.Kind(id)
	if f&isDeleting != 0 {
		lists := b.served(id, nil, now)
		if f&isForeground == 0 && b.may.has(id, fore) {
			lists = b.served(id, lists, FinalizersAfterDelete(metav1.DeletePropagationForeground, m.Type, now))
		}
		return lists
	}
	var lists [][]string
	for _, way := range [...]struct {
		mark   marks
		policy metav1.DeletionPropagation
	}{
		{back, metav1.DeletePropagationBackground},
		{orph, metav1.DeletePropagationOrphan},
		{fore, metav1.DeletePropagationForeground},
	} {
		if b.may.has(id, way.mark) {
			lists = b.served(id, lists, FinalizersAfterDelete(way.policy, m.Type, now))
		}
	}
	return lists
}

// served adds a list as it may be once the collector, or the namespace
// controller, has taken off what is theirs.
func (b *bounds) served(id graph.ID, lists [][]string, list []string) [][]string {
	const fg, orphan = metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents
	fgStays, fgGoes := true, b.may.has(id, released|emptied)
	if b.must.has(id, released|emptied) {
		fgStays = false
	}
	orphanStays := b.start[id]&isUnmonitored != 0 && !b.must.has(id, emptied)
	orphanGoes := !orphanStays || b.may.has(id, emptied)
	for _, take := range [...]struct {
		finalizer string
		stays     bool
		goes      bool
	}{{fg, fgStays, fgGoes}, {orphan, orphanStays, orphanGoes}} {
		if !slices.Contains(list, take.finalizer) {
			continue
		}
		if take.goes && take.stays {
			lists = b.collect(id, lists, without(list, take.finalizer))
		} else if take.goes {
			list = without(list, take.finalizer)
		}
	}
	return b.collect(id, lists, list)
}

// collect adds a list that is not there yet. Nothing stays without a finalizer
// except a Namespace, and what is within its grace period.
func (b *bounds) collect(id graph.ID, lists [][]string, list []string) [][]string {
	if len(list) == 0 && b.start[id]&(isNamespace|isGraceful) == 0 {
		return lists
	}
	if slices.ContainsFunc(lists, func(l []string) bool { return slices.Equal(l, list) }) {
		return lists
	}
	return append(lists, list)
}

// deterministic reports whether an object has one end.
func (b *bounds) deterministic(id graph.ID) bool {
	fates := b.fates(id)
	if fates&(fates-1) != 0 {
		return false
	}
	if fates == Gone {
		return true
	}
	first, last := b.g.ReferenceRange(id)
	for number := first; number < last; number++ {
		if set := b.reference(number); set&(set-1) != 0 {
			return false
		}
	}
	return fates == Live || len(b.finalizers(id)) == 1
}

func (b *bounds) outcome(id graph.ID) Outcome {
	o := Outcome{Fates: b.fates(id), object: b.g.Object(id)}
	first, last := b.g.ReferenceRange(id)
	for number := first; number < last; number++ {
		o.References = append(o.References, b.reference(number))
	}
	if o.Fates&Dying != 0 {
		o.Finalizers = b.finalizers(id)
	}
	if !b.deterministic(id) {
		o.Because = b.because(id, o)
	}
	return o
}

// because names the rows that leave the end of an object open.
func (b *bounds) because(id graph.ID, o Outcome) []Rule {
	rows := map[Rule]bool{
		R05: b.start[id]&isMistaken != 0,
		R17: b.start[id]&mayBeQueued != 0,
		R09: b.may.has(id, fore) && b.may.has(id, back|orph),
		N0:  b.start[id]&isUnread != 0 && b.may.has(id, goes),
		F3:  len(o.Finalizers) > 1 || b.may.has(id, released) && !b.must.has(id, released),
	}
	first, last := b.g.ReferenceRange(id)
	for number := first; number < last; number++ {
		b.referenceBecause(number, rows)
	}
	var list []Rule
	for row, fires := range rows {
		if fires {
			list = append(list, row)
		}
	}
	if len(list) == 0 {
		// Nothing about the object itself: it shares the doubt of an owner or
		// of a dependent, and is read again before anything is done to it.
		list = append(list, R21)
	}
	slices.Sort(list)
	return list
}

func (b *bounds) referenceBecause(number int, rows map[Rule]bool) {
	if c := b.may.staticClass(number); c.Doubt != "" {
		rows[c.Doubt] = true
	}
	set, v := b.reference(number), b.may.view(number)
	rows[R08] = rows[R08] || set&Dropped != 0 && set&^Dropped != 0
	rows[R19] = rows[R19] || set&Freed != 0
	rows[R10] = rows[R10] || v.waiting && (v.absent || v.solid)
}
