package preview

import (
	"slices"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/ownership/graph"
)

// letGoNote says what no rule of the collector knows.
const letGoNote = "The namespaces of the TeamSpaces stay if the manager of TeamSpace runs: when the definition goes, it takes " +
	"the reference off each of them before it lets the TeamSpace go, and a later TeamSpace of that name takes the namespace back."

// letGo are the namespaces of the TeamSpaces that go with their definition. The controller
// drops the reference before it takes its finalizer off, so that what would go by the
// collector's rules alone stays.
func (r request) letGo() []graph.ID {
	var namespaces []graph.ID
	for _, definition := range r.targets {
		if r.graph.Name(definition) != v1alpha1.CRDName {
			continue
		}
		for _, teamSpace := range r.instances[definition] {
			// One without the finalizer has not been seen by any controller.
			if slices.Contains(r.graph.Finalizers(teamSpace), v1alpha1.Finalizer) {
				namespaces = append(namespaces, r.namespacesOf(teamSpace)...)
			}
		}
	}
	return namespaces
}

// namespacesOf is the namespace of a TeamSpace, if that owns it.
func (r request) namespacesOf(teamSpace graph.ID) []graph.ID {
	var namespaces []graph.ID
	for _, number := range r.graph.Dependents(teamSpace) {
		owned := r.graph.Edge(int(number)).Dependent
		if r.graph.IsNamespace(owned) && r.graph.Name(owned) == v1alpha1.NamespaceFor(r.graph.Name(teamSpace)) {
			namespaces = append(namespaces, owned)
		}
	}
	return namespaces
}
