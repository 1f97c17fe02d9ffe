package sample

import (
	"fmt"
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/graph"
)

// Draw draws the sample of that number of a seed.
func Draw(seed, number uint64) *Sample {
	d := &drawer{random: rand.New(rand.NewPCG(seed, number)), s: &Sample{}}
	d.drawObjects()
	d.drawRounds()
	return d.s
}

// drawer draws one sample.
type drawer struct {
	random *rand.Rand
	s      *Sample
	ghosts int
	named  int
	fresh  []graph.Object // created by rounds
}

func (d *drawer) oneIn(n int) bool { return d.random.IntN(n) == 0 }

func pick[T any](d *drawer, list []T) T { return list[d.random.IntN(len(list))] }

// kinds are what objects are drawn from, the more frequent ones more often.
var kinds = []graph.Object{
	{APIVersion: "v1", Kind: "ConfigMap", Namespace: "a"},
	{APIVersion: "v1", Kind: "ConfigMap", Namespace: "a"},
	{APIVersion: "v1", Kind: "ConfigMap", Namespace: "b"},
	{APIVersion: "v1", Kind: "Secret", Namespace: "a"},
	{APIVersion: "v1", Kind: "Secret", Namespace: "c"},
	{APIVersion: "acme.example/v1", Kind: "Widget", Namespace: "a"},
	{APIVersion: "acme.example/v1", Kind: "Widget", Namespace: "a"},
	{APIVersion: "acme.example/v1", Kind: "Widget", Namespace: "b"},
	{APIVersion: "acme.example/v1", Kind: "Gadget", Namespace: "a"},
	{APIVersion: "acme.example/v1", Kind: "Gadget", Namespace: "b"},
	{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "a"},
	{APIVersion: "batch/v1", Kind: "Job", Namespace: "a"},
	{APIVersion: "acme.example/v1", Kind: "ClusterWidget"},
	{APIVersion: "acme.example/v1", Kind: "ClusterWidget"},
	{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"},
}

func (d *drawer) drawObjects() {
	if d.oneIn(12) {
		d.s.Objects = append(d.s.Objects, d.namespace(pick(d, []string{"a", "b"})))
	}
	for range 2 + d.random.IntN(7) {
		d.s.Objects = append(d.s.Objects, d.object())
	}
	for i := range d.s.Objects {
		d.s.Objects[i].Owners = d.references(d.s.Objects, d.s.Objects[i], d.random.IntN(4))
	}
}

func (d *drawer) namespace(name string) graph.Object {
	o := graph.Object{APIVersion: "v1", Kind: "Namespace", Name: name, UID: UID("Namespace", "", name)}
	if d.oneIn(4) {
		o.Finalizers = []string{Hold}
	}
	return o
}

// object draws an object without references.
func (d *drawer) object() graph.Object {
	o := pick(d, kinds)
	if d.oneIn(30) {
		o = graph.Object{APIVersion: "events.k8s.io/v1", Kind: "Event", Namespace: "a"}
	}
	o.Name = string(rune('p' + d.named))
	if d.named > 10 {
		o.Name = fmt.Sprintf("p%d", d.named)
	}
	d.named++
	o.UID = UID(o.Kind, o.Namespace, o.Name)
	if d.oneIn(4) {
		o.Finalizers = append(o.Finalizers, Hold)
	}
	switch d.random.IntN(20) {
	case 0, 1:
		o.Finalizers = append(o.Finalizers, metav1.FinalizerDeleteDependents)
	case 2, 3:
		o.Finalizers = append(o.Finalizers, metav1.FinalizerOrphanDependents)
	}
	return o
}
