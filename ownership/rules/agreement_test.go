package rules_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/ownership/rules"
)

var (
	graphs = flag.Int("graphs", 50_000, "how many random graphs TestAgreement compares; -short takes a tenth")
	seed   = flag.Uint64("seed", 1, "seed of the random graphs")
)

// TestAgreement draws random graphs and events, lets the naive cluster settle
// in a random order, and asks Predict. Each end must be one that Outcome
// allows, and so must the likely one; an outcome with one state leaves no room.
func TestAgreement(t *testing.T) {
	count := *graphs
	if testing.Short() {
		count /= 10
	}
	var objects, doubtful int
	for i := range count {
		random := rand.New(rand.NewPCG(*seed, uint64(i)))
		d := draw(random)
		p := rules.Predict(d.graph, d.events...)
		n := d.settle(random)
		if wrong := compare(p, n); wrong != "" {
			t.Fatalf("graph %d of seed %d:\n%s\nprediction:\n%s\n%s", i, *seed, d, ownershiptest.Picture(p), wrong)
		}
		objects += d.graph.Len()
		for id := range graph.ID(d.graph.Len()) {
			if !p.Outcome(id).Deterministic() {
				doubtful++
			}
		}
	}
	t.Logf("agreement: %d graphs (seed %d, %d objects, %d of them not deterministic)", count, *seed, objects, doubtful)
	if doubtful*16 > objects {
		t.Errorf("%d of %d outcomes are open: the bounds have become too wide to be of use", doubtful, objects)
	}
}

func compare(p *rules.Prediction, n *naive) string {
	g := p.Graph()
	for id := range graph.ID(g.Len()) {
		o := p.Outcome(id)
		for _, end := range []struct {
			who   string
			state rules.State
		}{{"the naive cluster", n.end(g.UID(id))}, {"the likely order", p.Likely(id)}} {
			if !o.Allows(end.state) {
				return fmt.Sprintf("%s leaves, against the outcome:\n%s", end.who, ownershiptest.PrintState(g, id, end.state))
			}
		}
	}
	return ""
}

// drawn is a random graph with what happens to it.
type drawn struct {
	graph   *graph.Graph
	events  []rules.Event
	steps   []string
	restart bool
	created []graph.ID
	deleted []deletion
}

type deletion struct {
	id     graph.ID
	policy metav1.DeletionPropagation
}

func (d *drawn) String() string {
	return ownershiptest.Print(d.graph) + strings.Join(d.steps, "\n")
}

// settle does the same to the naive cluster.
func (d *drawn) settle(random *rand.Rand) *naive {
	n := newNaive(random, d.graph.Types())
	fresh := map[graph.ID]bool{}
	for _, id := range d.created {
		fresh[id] = true
	}
	// Who is named by others already cannot be new: references were added to it.
	edited := map[graph.ID]bool{}
	for number := range d.graph.References() {
		if e := d.graph.Edge(number); fresh[e.Owner] && !fresh[e.Dependent] {
			edited[e.Owner] = true
		}
	}
	n.load(d.graph, func(id graph.ID) bool { return !d.restart && (!fresh[id] || edited[id]) },
		func(id graph.ID) bool { return edited[id] })
	if d.restart {
		var all []graph.ID
		for id := range graph.ID(d.graph.Len()) {
			all = append(all, id)
		}
		n.observeInAnyOrder(d.graph, all) // its workers begin before it knows them all
	}
	if len(d.created) > 0 {
		n.observeInAnyOrder(d.graph, d.created)
		n.drain()
	}
	for _, del := range d.deleted {
		n.deleteRequest(d.graph.UID(del.id), 0, del.policy)
	}
	n.settle()
	return n
}

// drain delivers what was observed before the workers start.
func (n *naive) drain() {
	for len(n.changes) > 0 {
		c := n.changes[0]
		n.changes = n.changes[1:]
		n.deliver(c)
	}
}

func draw(random *rand.Rand) *drawn {
	d := &drawn{}
	b := graph.NewBuilder(graph.NewTypes(ownershiptest.Types()...))
	objects := make([]graph.Object, 2+random.IntN(6))
	for i := range objects {
		objects[i] = drawObject(random, i)
	}
	for i := range objects {
		for range random.IntN(4) {
			objects[i].Owners = append(objects[i].Owners, drawReference(random, objects, i))
		}
		if refs := objects[i].Owners; len(refs) > 0 && random.IntN(8) == 0 {
			refs[random.IntN(len(refs))].Controller = new(true)
		}
		if err := b.Add(objects[i]); err != nil {
			panic(err)
		}
	}
	d.graph = b.Graph()
	d.drawEvents(random)
	return d
}

func (d *drawn) drawEvents(random *rand.Rand) {
	switch random.IntN(4) {
	case 0:
		d.restart = true
		d.events, d.steps = append(d.events, rules.Restarted()), append(d.steps, "restart")
	case 1:
		for id := range graph.ID(d.graph.Len()) {
			if random.IntN(3) == 0 && !d.graph.Deleting(id) {
				d.created = append(d.created, id)
				d.steps = append(d.steps, "create "+d.name(id))
			}
		}
		d.events = append(d.events, rules.Created(d.created...))
	}
	for range random.IntN(3) {
		policies := []metav1.DeletionPropagation{
			"", metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationForeground,
			metav1.DeletePropagationOrphan,
		}
		del := deletion{graph.ID(random.IntN(d.graph.Len())), policies[random.IntN(len(policies))]}
		d.deleted = append(d.deleted, del)
		d.events = append(d.events, rules.Deleted(del.policy, del.id))
		policy := cmp.Or(strings.ToLower(string(del.policy)), "default")
		d.steps = append(d.steps, fmt.Sprintf("delete %s %s", policy, d.name(del.id)))
	}
}

func (d *drawn) name(id graph.ID) string {
	o := d.graph.Object(id)
	return o.Kind + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
}

func drawObject(random *rand.Rand, i int) graph.Object {
	kinds := []graph.Object{
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "a"},
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "b"},
		{APIVersion: "acme.example/v1", Kind: "Widget", Namespace: "a"},
		{APIVersion: "acme.example/v1", Kind: "Widget", Namespace: "b"},
		{APIVersion: "acme.example/v1", Kind: "ClusterWidget"},
		{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"},
		{APIVersion: "batch/v1", Kind: "Job", Namespace: "a"},
	}
	o := kinds[random.IntN(len(kinds))]
	o.Name = string(rune('p' + i))
	switch random.IntN(24) {
	case 0, 3:
		o = graph.Object{APIVersion: "events.k8s.io/v1", Kind: "Event", Namespace: "a", Name: o.Name}
	case 1, 2:
		if i < 2 {
			o = graph.Object{APIVersion: "v1", Kind: "Namespace", Name: string(rune('a' + i))}
		}
	}
	o.UID = uidOf(o)
	pick := func(n int) bool { return random.IntN(n) == 0 }
	if pick(4) {
		o.Finalizers = append(o.Finalizers, "acme.example/hold")
	}
	switch {
	case pick(10):
		o.Finalizers = append(o.Finalizers, fgFinalizer)
	case pick(10):
		o.Finalizers = append(o.Finalizers, orphanFinalizer)
	}
	o.Deleting = pick(6) && (len(o.Finalizers) > 0 || o.Kind == "Namespace")
	if o.Kind == "Event" && o.Deleting { // its DELETE has taken these off
		o.Finalizers = slices.DeleteFunc(o.Finalizers, func(f string) bool { return f == fgFinalizer || f == orphanFinalizer })
		o.Deleting = len(o.Finalizers) > 0
	}
	return o
}

func drawReference(random *rand.Rand, objects []graph.Object, i int) metav1.OwnerReference {
	owner := objects[random.IntN(len(objects))]
	for try := 0; try < 3 && owner.Namespace != "" && owner.Namespace != objects[i].Namespace; try++ {
		owner = objects[random.IntN(len(objects))]
	}
	ref := metav1.OwnerReference{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID}
	switch random.IntN(20) {
	case 0:
		ref.UID = "nobody"
	case 1:
		ref.Name, ref.UID = "ghost", "ghost"
	case 2:
		ref.Kind = strings.ToLower(ref.Kind)
	case 3:
		ref.APIVersion = strings.Replace(ref.APIVersion, "acme.example/v1", "acme.example/v1beta1", 1)
	case 4:
		ref.APIVersion = "acme.example/v9"
	case 5:
		ref.Kind += "List"
	case 6:
		ref.Kind = "Gadget"
	case 7:
		ref.APIVersion, ref.Kind, ref.Name, ref.UID = "nowhere.example/v1", "Thing", "thing", "thing"
	}
	if block := random.IntN(2) == 0; block {
		ref.BlockOwnerDeletion = &block
	}
	return ref
}

func uidOf(o graph.Object) types.UID {
	return types.UID(o.Kind + "/" + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"))
}
