package rules

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/teamspace/ownership/graph"
)

// WithTraits returns the type with all that sets it apart from others in the eyes of the
// collector and of a DELETE. The resource is that of the type in the preferred version of
// its group, the verbs are those that it has there.
func WithTraits(t graph.Type, resource schema.GroupResource, verbs []string) graph.Type {
	t.Unmonitored = !Monitored(resource, verbs)
	t.IgnoresPolicy = isEvent(resource)
	t.OrphansByDefault = orphansByDefault[t.APIVersion+" "+t.Kind]
	return t
}

// Monitored reports whether the collector observes objects of the resource (R02).
func Monitored(resource schema.GroupResource, verbs []string) bool {
	for _, verb := range []string{"delete", "list", "watch"} {
		if !slices.Contains(verbs, verb) {
			return false
		}
	}
	return !isEvent(resource)
}

func isEvent(r schema.GroupResource) bool {
	return r.Resource == "events" && (r.Group == "" || r.Group == "events.k8s.io")
}

// orphansByDefault are the types of which a DELETE without a policy orphans the dependents
// (F1).
var orphansByDefault = map[string]bool{"batch/v1 Job": true, "v1 ReplicationController": true}
