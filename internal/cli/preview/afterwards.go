package preview

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// Later is how an object ends that is held, or that something held keeps.
type Later struct {
	Fate

	// Finalizers are those of others that have to be taken off before it goes.
	Finalizers []Held `json:"finalizers"`
}

// Held are finalizers that somebody other than the collector keeps on an object.
type Held struct {
	Object     document.Object `json:"object"`
	Finalizers []string        `json:"finalizers"`
}

// afterwards lists what goes once the finalizers of others are taken off, each with those
// that it waits for.
func (d *deletion) afterwards() []Later {
	list := []Later{}
	for _, id := range d.reached {
		if !d.goesLater(id) {
			continue
		}
		_, fate := d.later.fate(id)
		later := Later{Fate: fate, Finalizers: []Held{}}
		holders := d.holders(id)
		for _, holder := range holders {
			later.Finalizers = append(later.Finalizers, Held{document.ObjectOf(d.graph, holder), others(d.graph.Finalizers(holder))})
		}
		if len(holders) > 0 {
			later.Message = fmt.Sprintf("%s is deleted once %s", explain.Name(d.graph, id), d.takenOff(holders))
		}
		list = append(list, later)
	}
	slices.SortFunc(list, func(a, b Later) int { return document.Compare(a.Object, b.Object) })
	return list
}

// goesLater reports whether an object that is not sure to go does go once the finalizers of
// others are taken off.
func (d *deletion) goesLater(id graph.ID) bool {
	now, _ := d.fate(id)
	later, _ := d.later.fate(id)
	return now != fateDeleted && later == fateDeleted && !d.spared[id]
}

// takenOff says in words which finalizers have to be taken off what.
func (d *deletion) takenOff(holders []graph.ID) string {
	var parts []string
	for _, holder := range holders {
		for _, finalizer := range others(d.graph.Finalizers(holder)) {
			parts = append(parts, fmt.Sprintf("%s off %s", finalizer, explain.Name(d.graph, holder)))
		}
	}
	parts[0] = strings.Replace(parts[0], " off ", " is taken off ", 1)
	if last := len(parts) - 1; last > 0 {
		return strings.Join(parts[:last], ", ") + " and " + parts[last]
	}
	return parts[0]
}

// others are the finalizers that the collector does not serve.
func others(finalizers []string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), func(finalizer string) bool {
		return finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents
	})
}

// moment is that at which an object starts to be deleted, or that at which it is gone.
type moment struct {
	id   graph.ID
	gone bool
}

// holders are the objects whose finalizers come before an object is gone: its own, those of
// what it waits for, and those of what has to happen before it is deleted at all.
func (d *deletion) holders(id graph.ID) []graph.ID {
	var holders []graph.ID
	seen := map[moment]bool{}
	todo := []moment{{id, true}}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if now, _ := d.fate(at.id); seen[at] || now == fateDeleted {
			continue
		}
		seen[at] = true
		if !at.gone {
			todo = append(todo, d.causes(at.id)...)
			continue
		}
		if len(others(d.graph.Finalizers(at.id))) > 0 {
			holders = append(holders, at.id)
		}
		todo = append(todo, moment{at.id, false})
		for _, awaited := range d.awaited(at.id) {
			todo = append(todo, moment{awaited, true})
		}
	}
	slices.SortFunc(holders, func(a, b graph.ID) int {
		return document.Compare(document.ObjectOf(d.graph, a), document.ObjectOf(d.graph, b))
	})
	return holders
}

// causes are the moments that have an object deleted which is not being deleted yet.
func (d *deletion) causes(id graph.ID) []moment {
	first, ok := d.later.first[id]
	if !ok || first.Rule == rules.F1 || d.prediction.Likely(id).Deleting {
		return nil
	}
	if first.Rule == rules.N0 {
		return []moment{{d.places.namespaces[d.graph.Namespace(id)], false}}
	}
	now, _ := d.fate(id)
	var causes []moment
	number, last := d.graph.ReferenceRange(id)
	for ; number < last; number++ {
		if owner := d.graph.Edge(number).Owner; !d.graph.Virtual(owner) {
			// An owner that comes to wait takes its dependents along before it goes. Where that
			// is open, or it waits already and has not, it does so when it goes.
			waits := d.later.released[owner] && !d.graph.Deleting(owner)
			causes = append(causes, moment{owner, now == fateOpen || !waits})
		}
	}
	return causes
}

// awaited is what has to be gone before an object that is being deleted goes: the contents of
// a namespace, the objects of a definition's kind, and in the foreground what blocks it.
func (d *deletion) awaited(id graph.ID) []graph.ID {
	awaited := append(slices.Clone(d.contents(id)), d.instances[id]...)
	if !d.later.released[id] {
		return awaited
	}
	for _, number := range d.graph.Dependents(id) {
		if edge := d.graph.Edge(int(number)); edge.Blocking {
			awaited = append(awaited, edge.Dependent)
		}
	}
	return awaited
}
