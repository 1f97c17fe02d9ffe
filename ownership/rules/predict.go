package rules

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/graph"
)

// Event is something that makes the collector look.
type Event struct {
	kind    eventKind
	objects []graph.ID
	policy  metav1.DeletionPropagation
}

type eventKind uint8

const (
	restarted eventKind = iota
	created
	deleted
	reconsidered
	unheld
	unread
)

// Restarted is a start of the collector: it observes every object anew and
// remembers nothing. This is when what was latent happens.
func Restarted() Event { return Event{kind: restarted} }

// Created says that the collector observes these objects for the first time,
// or references that were added to them; the rest of the graph it knew. Say it
// too of the objects that name a type which begins to be served. References
// that were edited in place are no event at all (R17).
func Created(objects ...graph.ID) Event { return Event{kind: created, objects: objects} }

// Deleted is a DELETE of each object with the policy; the empty policy is a
// DELETE without options (F1). For an object that is being deleted already it
// is a second DELETE (F10, F11).
func Deleted(policy metav1.DeletionPropagation, objects ...graph.ID) Event {
	return Event{kind: deleted, objects: objects, policy: policy}
}

// Reconsidered says that the running collector may look at these objects once
// more without being told to: it could not judge them before, or its request
// failed, and it comes back after a pause. Only its memory knows.
func Reconsidered(objects ...graph.ID) Event { return Event{kind: reconsidered, objects: objects} }

// Unheld says that whoever keeps finalizers on these objects, besides the collector, takes
// them off as soon as the objects are being deleted (F12). Say it before the DELETE.
func Unheld(objects ...graph.ID) Event { return Event{kind: unheld, objects: objects} }

// Unread says that these namespaces may hold more than the graph has: something that could
// not be read, or whose server does not answer. The namespace controller then empties them as
// far as it can, but whether one of them goes is open (N).
func Unread(namespaces ...graph.ID) Event { return Event{kind: unread, objects: namespaces} }

// Prediction says how a graph ends once the collector has settled.
type Prediction struct {
	g      *graph.Graph
	bounds *bounds
	run    *machine
}

// Predict lets the events happen to the graph, one after the other, before the
// collector or the namespace controller can act, and then lets these two act
// until nothing moves. Of objects that no event reaches it assumes that the
// collector has settled: a verdict that nothing triggers stays latent.
//
// The time taken is linear in objects and references.
func Predict(g *graph.Graph, events ...Event) *Prediction {
	w := newWorld(g)
	for _, e := range events {
		w.apply(e)
	}
	b := newBounds(w)
	return &Prediction{g: g, bounds: b, run: newMachine(w)}
}

// Graph returns the graph that was predicted on.
func (p *Prediction) Graph() *graph.Graph { return p.g }

// Effects lists what happens, in the order of a collector with a single worker
// and no delays; where the order decides, Outcome tells.
func (p *Prediction) Effects() []Effect { return p.run.effects }

// Likely returns the state in which that single worker leaves the object. It is
// always one that Outcome allows.
func (p *Prediction) Likely(id graph.ID) State { return p.run.state(id) }

// Outcome returns every state that the collector may leave the object in.
func (p *Prediction) Outcome(id graph.ID) Outcome { return p.bounds.outcome(id) }

// Deterministic reports whether every object has a single outcome.
func (p *Prediction) Deterministic() bool {
	for id := range graph.ID(p.g.Len()) {
		if !p.bounds.deterministic(id) {
			return false
		}
	}
	return true
}

// Latent lists the objects that the collector would delete or prune if it
// looked at them, in the likely end, though nothing makes it look: it will when
// it restarts, at the latest (R17, K7-late).
func (p *Prediction) Latent() []graph.ID {
	var latent []graph.ID
	for id := range graph.ID(p.g.Len()) {
		if p.run.is(id, isGone) {
			continue
		}
		if action, _ := p.run.decide(id); action == Delete || action == Prune {
			latent = append(latent, id)
		}
	}
	return latent
}

// Decision returns what the collector decides when it looks at the object in
// the likely end. Of an object that is gone there is nothing to decide: ok is
// false.
func (p *Prediction) Decision(id graph.ID) (d Decision, ok bool) {
	if p.run.is(id, isGone) {
		return Decision{}, false
	}
	return Decide(p.run.subject(id)), true
}

// Classification returns the class of a reference in the likely end, by its
// number in the graph; ok is false for one that was dropped or whose object is
// gone.
func (p *Prediction) Classification(number int) (c Classification, ok bool) {
	if p.run.dropped[number] || p.run.is(p.g.Edge(number).Dependent, isGone) {
		return Classification{}, false
	}
	c = p.run.classify(number)
	if c.Class == Absent && c.Rule == K4 && p.taken(number) {
		c.Rule = K6
	}
	return c, true
}

// taken reports whether the coordinates of a reference lead to an object with
// another uid.
func (p *Prediction) taken(number int) bool {
	ref := p.g.Reference(number)
	namespace := p.g.Namespace(ref.Dependent)
	if !ref.Mapping.Type.Namespaced {
		namespace = ""
	}
	found, ok := p.g.Lookup(ref.APIVersion, ref.Kind, namespace, ref.Name)
	return ok && found != ref.Owner && !p.run.is(found, isGone)
}

// Blockers lists the numbers of the references that hold an owner which waits
// in the likely end, in the order of the dependents.
func (p *Prediction) Blockers(owner graph.ID) []int {
	if !p.run.is(owner, isDeleting|isForeground) {
		return nil
	}
	var blockers []int
	for _, number := range p.g.Dependents(owner) {
		if p.run.blocks(int(number)) {
			blockers = append(blockers, int(number))
		}
	}
	return blockers
}

// Deadlock names the row that keeps a blocking reference, as Blockers lists
// them, from ever going away by itself: F6 for a reference to the object
// itself, F5 for one of bad scope, F7 for an object with a reference that
// cannot be judged. It is empty for an object that the collector will get rid
// of, or has, as soon as its finalizers allow.
func (p *Prediction) Deadlock(blocker int) Rule {
	e := p.g.Edge(blocker)
	if e.Dependent == e.Owner {
		return F6
	}
	switch _, rule := p.run.decide(e.Dependent); rule {
	case R05:
		return F5
	case R06:
		return F7
	default:
		return ""
	}
}
