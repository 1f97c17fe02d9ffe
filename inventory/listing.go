package inventory

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// listing is one resource that can be listed, in the version that its group prefers.
type listing struct {
	resource   schema.GroupVersionResource
	apiVersion string
	kind       string
	namespaced bool
}

// isEvent: what a listing of events holds says nothing of ownership, and may be much.
func (l listing) isEvent() bool { return l.resource.Resource == "events" }

func (l listing) groupKind() schema.GroupKind {
	return l.resource.GroupVersion().WithKind(l.kind).GroupKind()
}

func (l listing) String() string { return l.resource.GroupResource().String() }

// prefer marks of each resource one version: that which its group prefers, or, if that
// does not have it, the first of the others in the order of the group.
func prefer(served []servedType, groups []*metav1.APIGroup) {
	rank := map[string]int{}
	for _, group := range groups {
		for i, version := range group.Versions {
			rank[version.GroupVersion] = i + 1
		}
		rank[group.PreferredVersion.GroupVersion] = 0
	}
	best := map[schema.GroupResource]int{}
	for i, t := range served {
		resource := t.resource.GroupResource()
		if first, ok := best[resource]; !ok || rank[t.apiVersion] < rank[served[first].apiVersion] {
			best[resource] = i
		}
	}
	for _, i := range best {
		served[i].preferred = true
	}
}

func preferredVerbs(served []servedType) map[schema.GroupResource][]string {
	verbs := map[schema.GroupResource][]string{}
	for _, t := range served {
		if t.preferred {
			verbs[t.resource.GroupResource()] = t.verbs
		}
	}
	return verbs
}

func (t servedType) graphType(verbs map[schema.GroupResource][]string) graph.Type {
	resource := t.resource.GroupResource()
	return rules.WithTraits(graph.Type{
		APIVersion: t.apiVersion, Kind: t.kind, Namespaced: t.namespaced, Serving: graph.Served,
	}, resource, verbs[resource])
}

// listingsOf lists what can be listed, sorted, so that two surveys do the same.
func listingsOf(served []servedType) []listing {
	var listings []listing
	for _, t := range served {
		if t.preferred && slices.Contains(t.verbs, "list") {
			listings = append(listings, listing{
				resource: t.resource, apiVersion: t.apiVersion, kind: t.kind, namespaced: t.namespaced,
			})
		}
	}
	slices.SortFunc(listings, func(a, b listing) int {
		return cmp.Or(cmp.Compare(a.resource.Group, b.resource.Group), cmp.Compare(a.resource.Resource, b.resource.Resource))
	})
	return listings
}
