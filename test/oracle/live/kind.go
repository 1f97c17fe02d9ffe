package live

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a type of which objects can be made.
type Kind struct {
	Resource   schema.GroupVersionResource
	Namespaced bool
	// Body holds the fields beside metadata that the API server asks for.
	Body func() map[string]any
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

type typeName struct{ apiVersion, kind string }

// kinds returns the types that a Cluster knows from the start: those of the samples.
func kinds() map[typeName]Kind {
	k := map[typeName]Kind{}
	add := func(apiVersion, kind, resource string, namespaced bool, body func() map[string]any) {
		gv := schema.FromAPIVersionAndKind(apiVersion, kind).GroupVersion()
		k[typeName{apiVersion, kind}] = Kind{gv.WithResource(resource), namespaced, body}
	}
	add("v1", "ConfigMap", "configmaps", true, empty)
	add("v1", "Secret", "secrets", true, empty)
	add("v1", "Namespace", "namespaces", false, empty)
	add("apps/v1", "Deployment", "deployments", true, deployment)
	add("batch/v1", "Job", "jobs", true, job)
	add("events.k8s.io/v1", "Event", "events", true, event)
	add("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false, empty)
	add("acme.example/v1", "Widget", "widgets", true, empty)
	add("acme.example/v1", "Gadget", "gadgets", true, empty)
	add("acme.example/v1", "ClusterWidget", "clusterwidgets", false, empty)
	return k
}

func empty() map[string]any { return map[string]any{} }

func podTemplate(restartPolicy string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "none"}},
		"spec": map[string]any{
			"restartPolicy": restartPolicy,
			"containers":    []any{map[string]any{"name": "none", "image": "none"}},
		},
	}
}

func deployment() map[string]any {
	return map[string]any{"spec": map[string]any{
		"replicas": int64(0),
		"selector": map[string]any{"matchLabels": map[string]any{"app": "none"}},
		"template": podTemplate("Always"),
	}}
}

func job() map[string]any {
	return map[string]any{"spec": map[string]any{"suspend": true, "template": podTemplate("Never")}}
}

func event() map[string]any {
	return map[string]any{
		"eventTime": "2020-01-01T00:00:00.000000Z", "reportingController": "acme.example/oracle",
		"reportingInstance": "oracle", "action": "Draw", "reason": "Drawn", "type": "Normal",
	}
}
