package ownershiptest

import "labhub.io/teamspace/ownership/graph"

// Types returns the types that every graph in the notation has: some built-in
// ones, and those of acme.example. The first version of a kind is the one that
// a kind alone means.
func Types() []graph.Type {
	builtin := func(apiVersion, kind string, namespaced bool) graph.Type {
		return graph.Type{APIVersion: apiVersion, Kind: kind, Namespaced: namespaced, Serving: graph.Served}
	}
	job := builtin("batch/v1", "Job", true)
	job.OrphansByDefault = true
	event := builtin("events.k8s.io/v1", "Event", true)
	event.Unmonitored, event.IgnoresPolicy = true, true
	return []graph.Type{
		builtin("v1", "ConfigMap", true),
		builtin("v1", "Secret", true),
		builtin("v1", "Pod", true),
		builtin("v1", "PersistentVolumeClaim", true),
		builtin("v1", "Namespace", false),
		builtin("apps/v1", "Deployment", true),
		builtin("apps/v1", "StatefulSet", true),
		builtin("rbac.authorization.k8s.io/v1", "ClusterRole", false),
		builtin("apiextensions.k8s.io/v1", "CustomResourceDefinition", false),
		job, event,
		builtin("acme.example/v1", "Widget", true),
		builtin("acme.example/v1beta1", "Widget", true),
		builtin("acme.example/v1", "Gadget", true),
		builtin("acme.example/v1", "ClusterWidget", false),
	}
}

// kinds finds the apiVersion that a kind alone means.
type kinds map[string]string

func kindsOf(types []graph.Type) kinds {
	k := kinds{}
	for _, t := range types {
		if _, ok := k[t.Kind]; !ok {
			k[t.Kind] = t.APIVersion
		}
	}
	return k
}
