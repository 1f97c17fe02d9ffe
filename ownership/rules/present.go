package rules

import "labhub.io/teamspace/ownership/graph"

// Present classifies a reference, by its number, as things are in the graph, before the
// collector or anybody else acts. An owner that is not in the graph is absent, unless the
// type says that not all objects of it could be read; whether another object has the
// owner's name is not looked for.
func Present(g *graph.Graph, number int) Classification {
	ref := g.Reference(number)
	f := Facts{Mapping: ref.Mapping, Answer: NotFound}
	if ref.Linked {
		f.Answer, f.UID = Found, ref.UID
		f.Deleting, f.Finalizers = g.Deleting(ref.Owner), g.Finalizers(ref.Owner)
	}
	return Classify(g.Namespace(ref.Dependent), ref.OwnerReference, f)
}
