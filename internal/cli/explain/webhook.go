package explain

import (
	"fmt"
	"slices"
	"strings"

	"labhub.io/teamspace/ownership/graph"
)

// unreachable is row E6: webhooks that fail closed and cannot be called keep others from
// deleting an object, or from taking a finalizer off.
func (j judge) unreachable(id graph.ID) []Cause {
	var causes []Cause
	for _, w := range j.webhooks {
		if w.intercepts(j, id) {
			causes = append(causes, w.cause(j.resource(id).Resource))
		}
	}
	return causes
}

func (w webhook) cause(resource string) Cause {
	may := "rejects"
	if w.conditional {
		may = "may reject"
	}
	what := fmt.Sprintf("%s update of %s, also that which takes a finalizer off", may, resource)
	switch deletes, updates := w.matchesOperation("DELETE"), w.matchesOperation("UPDATE"); {
	case deletes && updates:
		what = fmt.Sprintf("%s delete and update of %s", may, resource)
	case deletes:
		what = fmt.Sprintf("%s delete of %s", may, resource)
	}
	return Cause{
		Rule:    "E6",
		Message: fmt.Sprintf("webhook %s of %s %s (service %s: %s) %s", w.name, w.kind, w.configuration, w.backend.service, w.backend.fault, what),
		Fix: fmt.Sprintf("bring Service %s back; if what it belonged to is gone for good: kubectl delete %s %s",
			w.backend.service, strings.ToLower(w.kind), w.configuration),
	}
}

func (w webhook) intercepts(j judge, id graph.ID) bool {
	resource := j.resource(id)
	if !slices.ContainsFunc(w.rules, func(r webhookRule) bool {
		return r.matches(resource.Group, resource.Resource)
	}) {
		return false
	}
	namespace := j.graph.Namespace(id)
	if j.graph.IsNamespace(id) {
		namespace = j.graph.Name(id)
	}
	if namespace != "" && !w.selectsNamespace(j.namespaces[namespace]) {
		return false
	}
	return w.selects(j.details[id].labels)
}

func (w webhook) matchesOperation(operation string) bool {
	return slices.ContainsFunc(w.rules, func(r webhookRule) bool { return has(r.operations, operation) })
}

// matches reports whether a rule is about changes or deletions of a resource, in whatever
// version: the API server converts for a webhook that knows another.
func (r webhookRule) matches(group, resource string) bool {
	return (has(r.operations, "DELETE") || has(r.operations, "UPDATE")) && has(r.groups, group) &&
		(has(r.resources, resource) || slices.Contains(r.resources, "*/*"))
}

func has(list []string, word string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, word)
}
