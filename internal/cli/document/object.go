package document

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
)

// Object names an object in a document.
type Object struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid,omitempty"`
}

// ObjectOf names an object of a graph.
func ObjectOf(g *graph.Graph, id graph.ID) Object {
	apiVersion, kind, _ := g.Kind(id)
	return Object{APIVersion: apiVersion, Kind: kind, Namespace: g.Namespace(id), Name: g.Name(id), UID: g.UID(id)}
}

// String names the object as people do.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Compare orders objects as a person looks for them: by kind, group, namespace and name.
func Compare(a, b Object) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.APIVersion, b.APIVersion),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
