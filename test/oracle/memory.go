package oracle

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// memory is what a running collector may know of objects that a graph of the present
// does not tell. A prediction is made without it and with it, and either may be right:
// whether the collector really remembers depends on what it happened to look at.
type memory struct {
	// due are objects to which it may come back: those that it could not judge once,
	// and those of which the last prediction left open whether it looks at them.
	due map[types.UID]bool
	// polled are objects that it does not observe, but polls since an object named one
	// as its owner. It goes on when that does not any more.
	polled map[types.UID]bool
}

func newMemory() memory { return memory{due: map[types.UID]bool{}, polled: map[types.UID]bool{}} }

// note notes what the collector meets in a graph.
func (m memory) note(g *graph.Graph) {
	present := rules.Predict(g)
	for id := range graph.ID(g.Len()) {
		if d, ok := present.Decision(id); ok && d.Action == rules.Retry {
			m.due[g.UID(id)] = true
		}
	}
	for number := range g.References() {
		owner := g.Edge(number).Owner
		if g.Virtual(owner) {
			continue
		}
		if _, _, mapping := g.Kind(owner); mapping.Type.Unmonitored {
			m.polled[g.UID(owner)] = true
		}
	}
}

// noteOpen notes the objects that a prediction left open.
func (m memory) noteOpen(p *rules.Prediction) {
	for id := range graph.ID(p.Graph().Len()) {
		if !p.Outcome(id).Deterministic() {
			m.due[p.Graph().UID(id)] = true
		}
	}
}

// recall returns the objects that the collector may come back to, of those that it
// would do something about.
func (m memory) recall(g *graph.Graph) []graph.ID {
	return slices.DeleteFunc(rules.Predict(g).Latent(), func(id graph.ID) bool { return !m.due[g.UID(id)] })
}

// stand returns objects that stand for the collector's interest in those that it polls
// though nobody names them.
func (m memory) stand(objects []graph.Object) []graph.Object {
	var list []graph.Object
	for _, uid := range slices.Sorted(maps.Keys(m.polled)) {
		for _, o := range objects {
			if o.UID != uid {
				continue
			}
			name := fmt.Sprintf("interest-in-%s", o.Name)
			list = append(list, graph.Object{
				APIVersion: "v1", Kind: "ConfigMap", Namespace: o.Namespace, Name: name, UID: types.UID(name),
				Owners: []metav1.OwnerReference{{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID}},
			})
		}
	}
	return list
}
