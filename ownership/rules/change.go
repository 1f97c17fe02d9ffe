package rules

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/graph"
)

// Verb is what an Effect does to its object.
type Verb uint8

// The verbs of effects.
const (
	// Removed: the object is gone.
	Removed Verb = iota
	// Terminating: deletionTimestamp is set, finalizers hold the object.
	Terminating
	// Released: the collector took its own finalizer off.
	Released
	// Pruned: a reference was dropped since its owner is no owner (R08).
	Pruned
	// Orphaned: a reference was dropped since the owner goes without its
	// dependents (F9).
	Orphaned
	// Unblocked: a reference does not block any more, to break a cycle (R09).
	Unblocked
)

// String names the verb.
func (v Verb) String() string {
	return [...]string{"removed", "terminating", "released", "pruned", "orphaned", "unblocked"}[v]
}

// Effect is one change of one object.
type Effect struct {
	Object graph.ID
	Verb   Verb
	// Rule is the row behind the change.
	Rule Rule
	// Reference is the number of the reference that Pruned, Orphaned and
	// Unblocked change, otherwise -1.
	Reference int
}

func (w *world) note(id graph.ID, verb Verb, rule Rule, reference int) {
	w.effects = append(w.effects, Effect{Object: id, Verb: verb, Rule: rule, Reference: reference})
}

// delete is a DELETE request as the API server carries it out, and what the
// collector queues when it sees the result. An object within its grace period
// takes no notice (F11).
func (w *world) delete(id graph.ID, policy metav1.DeletionPropagation, rule Rule) {
	was := w.flags[id]
	if was&(isGone|isGraceful) != 0 || w.ignoresDelete(id) {
		return
	}
	now := w.afterDelete(id, policy)
	w.flags[id] = now &^ isGone
	if now&isGone != 0 {
		w.remove(id, rule)
		return
	}
	if was&isDeleting == 0 || was&(isForeground|isOrphan) != now&(isForeground|isOrphan) {
		w.note(id, Terminating, rule, -1)
	}
	if was&isDeleting == 0 && w.busy {
		w.flags[id] |= isFresh
	}
	w.busy = w.busy || was&isTwinned != 0 // any change of it may have its owners looked at
	if now&isNamespace != 0 {
		w.enqueue(id, isEmptying)
	}
	switch {
	case now&isUnmonitored != 0:
	case now&isOrphan != 0 && was&(isDeleting|isOrphan) != isDeleting|isOrphan:
		w.enqueue(id, isOrphaning)
	case now&isForeground != 0 && was&isWaiting != isWaiting:
		w.flags[id] |= isMarked
		if !w.busy {
			w.flags[id] |= isMarkedFirst
		}
		w.queueDependents(id)
		w.enqueue(id, isFinishing)
	}
}

// ignoresDelete reports whether a second DELETE does nothing: that of a
// Namespace whose own finalizer is still there, since it has contents or was
// deleted just now (F11).
func (w *world) ignoresDelete(id graph.ID) bool {
	held := w.any(id, hasOther|isForeground|isOrphan)
	return w.is(id, isNamespace|isDeleting) && (len(w.contents[id]) > 0 || !w.g.Deleting(id) || !held)
}

// afterDelete returns the flags of an object after a DELETE. A Namespace never
// goes at once: its contents come first.
func (w *world) afterDelete(id graph.ID, policy metav1.DeletionPropagation) flags {
	f := w.flags[id]
	_, _, m := w.g.Kind(id)
	var present []string
	if policy == "" {
		present = presentFinalizers(f, w.g.Finalizers(id))
	}
	want := f&^(isForeground|isOrphan) | isDeleting
	switch EffectivePolicy(policy, m.Type, present) {
	case metav1.DeletePropagationForeground:
		want |= isForeground
	case metav1.DeletePropagationOrphan:
		want |= isOrphan
	}
	if want&(isForeground|isOrphan) != f&(isForeground|isOrphan) {
		want |= isRewritten
	}
	if want&(hasOther|isForeground|isOrphan|isNamespace) == 0 {
		want |= isGone
	}
	return want
}

// presentFinalizers returns the finalizers that an object with these flags has. Those of
// others can be off only while it is being deleted (Unheld).
func presentFinalizers(f flags, stored []string) []string {
	var list []string
	for _, name := range stored {
		if collectors(name) {
			if f&isRewritten == 0 && f&finalizerFlags([]string{name}) != 0 {
				list = append(list, name)
			}
		} else if f&(isDeleting|hasOther) != isDeleting {
			list = append(list, name)
		}
	}
	if f&isRewritten == 0 {
		return list
	}
	if f&isOrphan != 0 {
		list = append(list, metav1.FinalizerOrphanDependents)
	}
	if f&isForeground != 0 {
		list = append(list, metav1.FinalizerDeleteDependents)
	}
	return list
}

// remove takes the object out of the cluster and of the collector's graph. Its
// dependents are queued, and so are owners that wait.
func (w *world) remove(id graph.ID, rule Rule) {
	w.note(id, Removed, rule, -1)
	w.queueDependents(id)
	first, last := w.g.ReferenceRange(id)
	for number := first; number < last; number++ {
		if w.inGraph(number) {
			w.forget(number)
			w.finishOwner(number)
		}
	}
	w.flags[id] |= isGone
	if ns := w.namespace(id); ns != graph.None {
		w.remaining[ns]--
		if w.remaining[ns] == 0 && w.is(ns, isDeleting) {
			w.enqueue(ns, isEmptying)
		}
	}
}

// removeIfFree removes an object that is being deleted once no finalizer and,
// of a Namespace, no content is left (F12).
func (w *world) removeIfFree(id graph.ID, rule Rule) {
	if w.any(id, isGone|hasOther|isForeground|isOrphan) || !w.is(id, isDeleting) {
		return
	}
	if w.is(id, isNamespace) && (w.remaining[id] > 0 || w.any(id, isUnread)) {
		return // of an unread one nobody knows, and that it waits is never wrong
	}
	w.remove(id, rule)
}

// queueDependents has the dependents looked at that the collector connects with
// what happened to the owner. Of an owner that it only polls these are the ones
// that name it as it is polled.
func (w *world) queueDependents(owner graph.ID) {
	surely := !w.any(owner, isUnmonitored) || w.polledSurely(owner)
	maybe := w.any(owner, isPolled)
	for _, number := range w.g.Dependents(owner) {
		if !w.dropped[number] && (surely || maybe) {
			w.look(w.g.Edge(int(number)).Dependent, surely)
		}
	}
}

// look has an object looked at, or perhaps looked at. One that is not observed
// is not told of anything; it is polled, or it is not.
func (w *world) look(id graph.ID, surely bool) {
	switch {
	case w.any(id, isUnmonitored) && !w.any(id, isPolled):
	case surely && (!w.any(id, isUnmonitored) || w.polledSurely(id)):
		w.enqueue(id, isQueued)
	case !w.any(id, isGone):
		w.flags[id] |= mayBeQueued
		w.busy = true
	}
}

// polledSurely reports whether the collector polls the object and all
// dependents agree on its coordinates.
func (w *world) polledSurely(id graph.ID) bool {
	return w.any(id, isPolled) && !w.disputed(id)
}

// forget takes a reference that the collector's graph has out of the counts.
func (w *world) forget(number int) {
	owner := w.g.Edge(number).Owner
	w.dependents[owner]--
	if w.blocks(number) {
		w.blockers[owner]--
	}
}

// finishOwner has an owner looked at that may have waited for this reference.
func (w *world) finishOwner(number int) {
	if owner := w.g.Edge(number).Owner; w.any(owner, isMarked) {
		w.enqueue(owner, isFinishing)
	}
}

// tells reports whether the collector looks at the owner when the reference is
// dropped or freed: it does if that blocked. Of several with one uid it
// compares the last one, so that an owner that another one blocks is not
// released until something else has it looked at (R16).
func (w *world) tells(number int) bool {
	return w.blocks(w.lastTwin(number))
}

// lastTwin returns the last reference of the same object with the same uid.
func (w *world) lastTwin(number int) int {
	e := w.g.Edge(number)
	if !w.any(e.Dependent, isTwinned) {
		return number
	}
	first, last := w.g.ReferenceRange(e.Dependent)
	for twin := last - 1; twin > first; twin-- {
		if w.g.Edge(twin).Owner == e.Owner {
			return twin
		}
	}
	return first
}

// unhold has an owner looked at, whether or not it waits: a reference that
// blocked it was dropped or freed.
func (w *world) unhold(number int) {
	w.look(w.g.Edge(number).Owner, true)
}

// drop removes a reference from its object. An object that the collector tries
// again and again may be judged now.
func (w *world) drop(number int, verb Verb, rule Rule) {
	if w.dropped[number] {
		return
	}
	id := w.g.Edge(number).Dependent
	if w.inGraph(number) {
		tells := w.tells(number)
		w.forget(number)
		if tells {
			w.unhold(number)
		}
	}
	w.dropped[number] = true
	w.note(id, verb, rule, number)
	if w.any(id, isRetrying) {
		w.enqueue(id, isQueued)
	}
}

// unblock sets blockOwnerDeletion=false on a reference.
func (w *world) unblock(number int) {
	if !w.blocks(number) {
		return
	}
	tells := w.tells(number)
	w.blockers[w.g.Edge(number).Owner]--
	w.unblocked[number] = true
	w.note(w.g.Edge(number).Dependent, Unblocked, R09, number)
	if tells {
		w.unhold(number)
	}
}
