package sample

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/ownership/rules"
)

// String writes the sample in the notation, the rounds parted by what the collector
// does meanwhile. Added and edited references are written after the uid of the object.
func (s *Sample) String() string {
	var b strings.Builder
	g := graphOf(s.All())
	show := func(o graph.Object) string {
		id, _ := g.Find(o.UID)
		return ownershiptest.PrintState(g, id, rules.State{
			Exists: true, Deleting: o.Deleting, Finalizers: o.Finalizers, Owners: o.Owners,
		})
	}
	for _, o := range s.Objects {
		fmt.Fprintln(&b, show(o))
	}
	for i, r := range s.Rounds {
		fmt.Fprintf(&b, "# round %d, the collector is %s\n", i, r.Mode)
		for _, step := range r.Steps {
			switch step.Verb {
			case Delete:
				fmt.Fprintf(&b, "delete %s %s\n", strings.ToLower(cmp.Or(string(step.Policy), "default")), step.Object)
			case Create:
				fmt.Fprintf(&b, "create %s\n", show(step.New))
			default:
				id, _ := g.Find(step.Object)
				o := g.Object(id)
				o.Finalizers, o.Owners = nil, []metav1.OwnerReference{step.Reference}
				fmt.Fprintf(&b, "%s %s\n", [...]string{Refer: "refer", Edit: "edit"}[step.Verb], show(o))
			}
		}
	}
	return b.String()
}

func graphOf(objects []graph.Object) *graph.Graph {
	b := graph.NewBuilder(graph.NewTypes(Types()...))
	for _, o := range objects {
		if err := b.Add(o); err != nil {
			panic(err) // drawn objects are complete
		}
	}
	return b.Graph()
}
