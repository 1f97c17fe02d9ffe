package rules_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// TestWithTraits is rows R02 and F1.
func TestWithTraits(t *testing.T) {
	all := []string{"create", "delete", "get", "list", "patch", "update", "watch"}
	for name, tc := range map[string]struct {
		apiVersion, kind string
		resource         schema.GroupResource
		verbs            []string
		want             graph.Type
	}{
		"R02 an ordinary type":        {"apps/v1", "Deployment", schema.GroupResource{Group: "apps", Resource: "deployments"}, all, graph.Type{}},
		"R02 nothing to watch":        {"x/v1", "Thing", schema.GroupResource{Group: "x", Resource: "things"}, []string{"delete", "get", "list"}, graph.Type{Unmonitored: true}},
		"R02 nothing to delete":       {"v1", "ComponentStatus", schema.GroupResource{Resource: "componentstatuses"}, []string{"get", "list", "watch"}, graph.Type{Unmonitored: true}},
		"R02 nothing to list":         {"v1", "Binding", schema.GroupResource{Resource: "bindings"}, []string{"delete", "watch"}, graph.Type{Unmonitored: true}},
		"R02 events":                  {"v1", "Event", schema.GroupResource{Resource: "events"}, all, graph.Type{Unmonitored: true, IgnoresPolicy: true}},
		"R02 the events of the newer": {"events.k8s.io/v1", "Event", schema.GroupResource{Group: "events.k8s.io", Resource: "events"}, all, graph.Type{Unmonitored: true, IgnoresPolicy: true}},
		"R02 somebody else's events":  {"x/v1", "Event", schema.GroupResource{Group: "x", Resource: "events"}, all, graph.Type{}},
		"F1 a Job":                    {"batch/v1", "Job", schema.GroupResource{Group: "batch", Resource: "jobs"}, all, graph.Type{OrphansByDefault: true}},
		"F1 a ReplicationController":  {"v1", "ReplicationController", schema.GroupResource{Resource: "replicationcontrollers"}, all, graph.Type{OrphansByDefault: true}},
		"F1 a Job of a later version": {"batch/v2", "Job", schema.GroupResource{Group: "batch", Resource: "jobs"}, all, graph.Type{}},
	} {
		t.Run(name, func(t *testing.T) {
			given := graph.Type{APIVersion: tc.apiVersion, Kind: tc.kind, Namespaced: true, Serving: graph.Served}
			tc.want.APIVersion, tc.want.Kind, tc.want.Namespaced, tc.want.Serving = tc.apiVersion, tc.kind, true, graph.Served
			if got := rules.WithTraits(given, tc.resource, tc.verbs); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}
