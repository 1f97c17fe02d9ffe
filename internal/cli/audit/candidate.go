package audit

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// scope is what an audit speaks of.
type scope struct {
	namespace string // empty: everything
}

func (s scope) has(g *graph.Graph, id graph.ID) bool {
	return s.namespace == "" || g.Namespace(id) == s.namespace
}

// rings numbers the cycles that an object is part of.
type rings map[graph.ID]int

func newRings(g *graph.Graph) rings {
	r := rings{}
	for number, cycle := range g.Cycles() {
		if len(cycle) < 2 {
			continue // who owns itself is known by that
		}
		for _, id := range cycle {
			r[id] = number + 1
		}
	}
	return r
}

// closes reports whether an edge is part of a cycle.
func (r rings) closes(e graph.Edge) bool { return r[e.Owner] != 0 && r[e.Owner] == r[e.Dependent] }

// candidates are the objects that are worth a live look: by what the survey saw something
// is the matter with one of their references.
func candidates(g *graph.Graph, s scope, r rings) []graph.ID {
	var list []graph.ID
	for id := range graph.ID(g.Len()) {
		if s.has(g, id) && suspicious(g, id, r) {
			list = append(list, id)
		}
	}
	return list
}

func suspicious(g *graph.Graph, id graph.ID, r rings) bool {
	first, last := g.ReferenceRange(id)
	for number := first; number < last; number++ {
		e := g.Edge(number)
		if e.Owner == id || r.closes(e) {
			return true
		}
		if c := rules.Present(g, number); c.Class != rules.Solid || !c.Deterministic() {
			return true
		}
		for earlier := first; earlier < number; earlier++ {
			if g.Edge(earlier).Owner == e.Owner {
				return true
			}
		}
	}
	return false
}

// lost are the objects in namespaces that do not exist; nobody knows if not all namespaces
// were read.
func lost(g *graph.Graph, s scope) []graph.ID {
	if mapping := g.Types().Resolve("v1", "Namespace"); !mapping.Resolves() || mapping.Type.Unreadable {
		return nil
	}
	exists := map[string]bool{"": true}
	for id := range graph.ID(g.Len()) {
		if g.IsNamespace(id) {
			exists[g.Name(id)] = true
		}
	}
	var list []graph.ID
	for id := range graph.ID(g.Len()) {
		if s.has(g, id) && !exists[g.Namespace(id)] {
			list = append(list, id)
		}
	}
	return list
}

// waits reports whether any object is in foreground deletion.
func waits(g *graph.Graph) bool {
	for id := range graph.ID(g.Len()) {
		if g.Deleting(id) && slices.Contains(g.Finalizers(id), metav1.FinalizerDeleteDependents) {
			return true
		}
	}
	return false
}

// deadlocks are the blocking references that will never go by themselves (F5, F6, F7).
func deadlocks(p *rules.Prediction, s scope) []int {
	g := p.Graph()
	var list []int
	for owner := range graph.ID(g.Len()) {
		for _, number := range p.Blockers(owner) {
			if p.Deadlock(number) != "" && s.has(g, g.Edge(number).Dependent) {
				list = append(list, number)
			}
		}
	}
	return list
}

// statefulSets are those that have claim templates, perhaps.
func statefulSets(g *graph.Graph, s scope) bool {
	for id := range graph.ID(g.Len()) {
		if apiVersion, kind, _ := g.Kind(id); kind == "StatefulSet" && apiVersion == "apps/v1" && s.has(g, id) {
			return true
		}
	}
	return false
}
