package ownership_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// A site owns a page; a role without a namespace names the site too. What
// happens when the site is deleted in the foreground?
func Example() {
	types := graph.NewTypes(
		graph.Type{APIVersion: "own.example/v1", Kind: "Site", Namespaced: true, Serving: graph.Served},
		graph.Type{APIVersion: "v1", Kind: "ConfigMap", Namespaced: true, Serving: graph.Served},
		graph.Type{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Serving: graph.Served},
	)
	block := true
	owner := metav1.OwnerReference{
		APIVersion: "own.example/v1", Kind: "Site", Name: "alpha", UID: "8f3", BlockOwnerDeletion: &block,
	}
	b := graph.NewBuilder(types)
	for _, o := range []graph.Object{
		{APIVersion: "own.example/v1", Kind: "Site", Namespace: "web", Name: "alpha", UID: "8f3"},
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "page", UID: "1c2", Owners: []metav1.OwnerReference{owner}},
		{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "reader", UID: "7d4", Owners: []metav1.OwnerReference{owner}},
	} {
		if err := b.Add(o); err != nil {
			fmt.Println(err)
		}
	}
	g := b.Graph()
	site, _ := g.Find("8f3")

	p := rules.Predict(g, rules.Deleted(metav1.DeletePropagationForeground, site))
	for _, e := range p.Effects() {
		fmt.Println(explain.Effect(p, e))
	}
	for _, blocker := range p.Blockers(site) {
		fmt.Println(explain.Blocker(p, blocker))
	}
	// Output:
	// Site web/alpha is marked as being deleted and waits for its finalizers
	// ConfigMap web/page is deleted: its owner is being deleted in the foreground
	// ClusterRole reader blocks Site web/alpha for ever: it is cluster-scoped, has a namespaced owner and is never collected; delete Site web/alpha again with --cascade=background, or delete ClusterRole reader
}
