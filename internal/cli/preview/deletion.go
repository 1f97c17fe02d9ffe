package preview

import (
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// request is a deletion that somebody thinks of.
type request struct {
	graph   *graph.Graph
	policy  metav1.DeletionPropagation
	targets []graph.ID

	// instances are the objects that go with a definition among the targets.
	instances map[graph.ID][]graph.ID

	// unread are the namespaces that may hold more than could be read.
	unread []graph.ID

	places places
}

// deletion is a prediction of a deletion, and how to tell of it.
type deletion struct {
	request

	prediction *rules.Prediction

	first    map[graph.ID]rules.Effect // the effect by which an object starts to be deleted
	last     map[graph.ID]rules.Effect // the last effect on each object
	released map[graph.ID]bool         // what waited for its dependents, and does not any more

	reached []graph.ID // the objects that the deletion may reach, sorted
	reaches map[graph.ID]bool

	// spared are the namespaces that TeamSpaces let go, and what is below them.
	spared map[graph.ID]bool

	// later is the same deletion where the finalizers of others are taken off as soon as
	// something waits for them.
	later *deletion
}

// predict lets the collector's rules play the deletion, and then once more as if nobody else
// kept a finalizer on what it reaches.
func predict(r request) *deletion {
	r.places = placesOf(r.graph)
	d := play(r, nil)
	d.later = play(r, d.reached)
	// What waits for one of those reacts only when that is let go.
	d.setReached(append(d.reached, d.later.reached...))
	d.spared = map[graph.ID]bool{}
	for _, id := range spread(d.letGo(), d.below, func(graph.ID) bool { return true }) {
		d.spared[id] = true
	}
	return d
}

// play plays the deletion with the finalizers of others off some objects. A definition takes
// the objects of its kind along, each of them deleted as if nobody had said how (E7).
func play(r request, free []graph.ID) *deletion {
	before := []rules.Event{rules.Unread(r.unread...), rules.Reconsidered(r.unsettled()...), rules.Unheld(free...)}
	events := append(slices.Clone(before), rules.Deleted(r.policy, r.targets...))
	for _, definition := range r.targets {
		if objects := r.instances[definition]; len(objects) > 0 {
			events = append(events, rules.Deleted("", objects...))
		}
	}
	d := &deletion{
		request: r, prediction: rules.Predict(r.graph, events...),
		first: map[graph.ID]rules.Effect{}, last: map[graph.ID]rules.Effect{}, released: map[graph.ID]bool{},
	}
	d.noteEffects()
	d.setReached(d.reach(rules.Predict(r.graph, before...)))
	return d
}

func (d *deletion) noteEffects() {
	for _, e := range d.prediction.Effects() {
		d.last[e.Object] = e
		_, started := d.first[e.Object]
		if !started && (e.Verb == rules.Removed || e.Verb == rules.Terminating) {
			d.first[e.Object] = e
		}
		if e.Verb == rules.Released && e.Rule == rules.F3 {
			d.released[e.Object] = true
		}
	}
}

func (d *deletion) setReached(ids []graph.ID) {
	slices.Sort(ids)
	d.reached, d.reaches = slices.Compact(ids), make(map[graph.ID]bool, len(ids))
	for _, id := range d.reached {
		d.reaches[id] = true
	}
}

// reach are the objects that the deletion may reach: what is below the targets, and what
// reacts to that, such as an owner that waits. What happens without the deletion, too, is
// somebody else's business.
func (d *deletion) reach(without *rules.Prediction) []graph.ID {
	below := spread(d.targets, d.below, func(graph.ID) bool { return true })
	return spread(below, func(id graph.ID) []graph.ID { return append(d.above(id), d.below(id)...) }, func(id graph.ID) bool {
		return !reflect.DeepEqual(d.prediction.Likely(id), without.Likely(id)) ||
			!reflect.DeepEqual(d.prediction.Outcome(id), without.Outcome(id))
	})
}

// spread goes from some objects to others, and from those on, as far as they are taken.
func spread(from []graph.ID, next func(graph.ID) []graph.ID, take func(graph.ID) bool) []graph.ID {
	seen := map[graph.ID]bool{}
	var taken []graph.ID
	for _, id := range from {
		if !seen[id] {
			seen[id] = true
			taken = append(taken, id)
		}
	}
	for at := 0; at < len(taken); at++ {
		for _, id := range next(taken[at]) {
			if !seen[id] {
				seen[id] = true
				if take(id) {
					taken = append(taken, id)
				}
			}
		}
	}
	return taken
}

// unsettled are, below the targets, the objects in foreground deletion and their dependents:
// whether the collector has come to them already, or never will by itself, nobody can see.
func (r request) unsettled() []graph.ID {
	var unsettled []graph.ID
	for _, id := range spread(r.targets, r.below, func(graph.ID) bool { return true }) {
		if !r.graph.Deleting(id) || !slices.Contains(r.graph.Finalizers(id), metav1.FinalizerDeleteDependents) {
			continue
		}
		unsettled = append(unsettled, id)
		for _, number := range r.graph.Dependents(id) {
			unsettled = append(unsettled, r.graph.Edge(int(number)).Dependent)
		}
	}
	return unsettled
}

// below are the dependents of an object, the objects of a kind that go with its definition,
// and what is in a namespace; one of them may be there twice.
func (r request) below(id graph.ID) []graph.ID {
	below := slices.Clone(r.instances[id])
	for _, number := range r.graph.Dependents(id) {
		below = append(below, r.graph.Edge(int(number)).Dependent)
	}
	return append(below, r.contents(id)...)
}

// above are the owners of an object, and its namespace.
func (r request) above(id graph.ID) []graph.ID {
	var above []graph.ID
	first, last := r.graph.ReferenceRange(id)
	for number := first; number < last; number++ {
		if owner := r.graph.Edge(number).Owner; !r.graph.Virtual(owner) {
			above = append(above, owner)
		}
	}
	if namespace, ok := r.places.namespaces[r.graph.Namespace(id)]; ok {
		above = append(above, namespace)
	}
	return above
}

// contents is what is in a namespace.
func (r request) contents(id graph.ID) []graph.ID {
	if !r.graph.IsNamespace(id) {
		return nil
	}
	return r.places.contents[r.graph.Name(id)]
}

// places says, by the names of namespaces, what is in them, and which objects they are.
type places struct {
	contents   map[string][]graph.ID
	namespaces map[string]graph.ID
}

func placesOf(g *graph.Graph) places {
	p := places{contents: map[string][]graph.ID{}, namespaces: map[string]graph.ID{}}
	for id := range graph.ID(g.Len()) {
		if namespace := g.Namespace(id); namespace != "" {
			p.contents[namespace] = append(p.contents[namespace], id)
		}
		if g.IsNamespace(id) {
			p.namespaces[g.Name(id)] = id
		}
	}
	return p
}
