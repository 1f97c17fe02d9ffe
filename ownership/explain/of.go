package explain

import (
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// Of collects what a graph knows of an object and its references, as they are
// in the likely end of a prediction; one without events gives the present. The
// reader may know all of it.
func Of(p *rules.Prediction, id graph.ID) Subject {
	g := p.Graph()
	s := Subject{Target: *target(g, id)}
	first, last := g.ReferenceRange(id)
	for number := first; number < last; number++ {
		if c, ok := p.Classification(number); ok {
			s.References = append(s.References, reference(g, number, c))
		}
	}
	return s
}

func reference(g *graph.Graph, number int, c rules.Classification) Reference {
	r := g.Reference(number)
	ref := Reference{
		OwnerReference: r.OwnerReference, Classification: c, Mapping: r.Mapping,
		Suggest: g.Types().Suggest(r.Kind), Reveal: true,
	}
	namespace := g.Namespace(r.Dependent)
	if !r.Mapping.Type.Namespaced {
		namespace = ""
	}
	if found, ok := g.Lookup(r.APIVersion, r.Kind, namespace, r.Name); ok && found != r.Owner {
		ref.Found = target(g, found)
	}
	if !g.Virtual(r.Owner) && !r.Linked {
		ref.Elsewhere = target(g, r.Owner)
	}
	return ref
}

func target(g *graph.Graph, id graph.ID) *Target {
	apiVersion, kind, _ := g.Kind(id)
	return &Target{APIVersion: apiVersion, Kind: kind, Namespace: g.Namespace(id), Name: g.Name(id), UID: g.UID(id)}
}
