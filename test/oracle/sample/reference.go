package sample

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
)

// references draws a list of references of an object to some of the objects.
func (d *drawer) references(objects []graph.Object, o graph.Object, count int) []metav1.OwnerReference {
	var refs []metav1.OwnerReference
	for range count {
		ref := d.reference(objects, o)
		if len(refs) > 0 && d.oneIn(12) {
			ref = d.twin(pick(d, refs))
		}
		refs = append(refs, ref)
	}
	if len(refs) > 0 && d.oneIn(5) {
		pick(d, pointers(refs)).Controller = new(true) // two of them would be refused (V4)
	}
	return refs
}

func pointers[T any](list []T) []*T {
	var all []*T
	for i := range list {
		all = append(all, &list[i])
	}
	return all
}

// reference draws one reference of the object, right or wrong in one of the ways
// that the rules tell apart.
func (d *drawer) reference(objects []graph.Object, o graph.Object) metav1.OwnerReference {
	var ref metav1.OwnerReference
	if d.oneIn(2) {
		ref = to(d.owner(objects, o, reachable))
	} else {
		ref = pick(d, flaws)(d, objects, o)
	}
	switch d.random.IntN(8) {
	case 0, 1, 2, 3:
		ref.BlockOwnerDeletion = new(true)
	case 4:
		ref.BlockOwnerDeletion = new(false)
	}
	return ref
}

// to returns the reference that leads to the owner.
func to(owner graph.Object) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID}
}

// flaws are the ways in which a reference may be unusual.
var flaws = []func(*drawer, []graph.Object, graph.Object) metav1.OwnerReference{
	(*drawer).absent, (*drawer).absent,
	(*drawer).wrongUID,
	(*drawer).elsewhere, (*drawer).elsewhere,
	(*drawer).anywhere, (*drawer).anywhere, // bad scope, for a cluster-scoped object
	(*drawer).unresolvable,
	(*drawer).wrongKind,
	(*drawer).wrongName,
	(*drawer).list,
	(*drawer).lowerCase,
	(*drawer).otherVersion,
	(*drawer).itself,
}

func reachable(o, owner graph.Object) bool {
	return owner.UID != o.UID && (owner.Namespace == "" || owner.Namespace == o.Namespace)
}

// owner draws an owner that fits, if a few tries bring one.
func (d *drawer) owner(objects []graph.Object, o graph.Object, fits func(o, owner graph.Object) bool) graph.Object {
	owner := pick(d, objects)
	for try := 0; try < 8 && !fits(o, owner); try++ {
		owner = pick(d, objects)
	}
	return owner
}

func (d *drawer) ghost() types.UID {
	d.ghosts++
	return types.UID(fmt.Sprintf("ghost%d", d.ghosts))
}

func (d *drawer) absent([]graph.Object, graph.Object) metav1.OwnerReference {
	kind := pick(d, kinds)
	uid := d.ghost()
	return metav1.OwnerReference{APIVersion: kind.APIVersion, Kind: kind.Kind, Name: string(uid), UID: uid}
}

func (d *drawer) wrongUID(objects []graph.Object, o graph.Object) metav1.OwnerReference {
	ref := to(d.owner(objects, o, reachable))
	ref.UID = d.ghost()
	return ref
}

func (d *drawer) elsewhere(objects []graph.Object, o graph.Object) metav1.OwnerReference {
	return to(d.owner(objects, o, func(o, owner graph.Object) bool {
		return owner.Namespace != "" && owner.Namespace != o.Namespace
	}))
}

func (d *drawer) anywhere(objects []graph.Object, o graph.Object) metav1.OwnerReference {
	return to(d.owner(objects, o, func(o, owner graph.Object) bool {
		return owner.UID != o.UID && owner.Namespace != "" && o.Namespace == ""
	}))
}

func (d *drawer) unresolvable(objects []graph.Object, o graph.Object) metav1.OwnerReference {
	ref := to(d.owner(objects, o, reachable))
	switch d.random.IntN(5) {
	case 0:
		ref.APIVersion = "nowhere.example/v1"
	case 1:
		ref.APIVersion = "acme.example/v9"
	case 2:
		ref.APIVersion, ref.Kind = "acme.example/v1", "Gizmo"
	case 3:
		ref.APIVersion, ref.Kind = "v1", "Deployment" // a built-in kind in another group
	case 4:
		ref.Kind = "*v1." + ref.Kind
	}
	if d.oneIn(2) {
		ref.UID = d.ghost()
	}
	return ref
}

func (d *drawer) wrongKind(objects []graph.Object, o graph.Object) metav1.OwnerReference {
	ref := to(d.owner(objects, o, reachable))
	other := d.owner(kinds, o, func(_, kind graph.Object) bool { return kind.Kind != ref.Kind })
	ref.APIVersion, ref.Kind = other.APIVersion, other.Kind
	return ref
}

func (d *drawer) wrongName(objects []graph.Object, o graph.Object) metav1.OwnerReference {
	ref := to(d.owner(objects, o, reachable))
	ref.Name = pick(d, []string{"nobody", pick(d, objects).Name})
	return ref
}

func (d *drawer) list(objects []graph.Object, o graph.Object) metav1.OwnerReference {
	ref := to(d.owner(objects, o, reachable))
	ref.Kind = pick(d, []string{ref.Kind + "List", ref.Kind + "List", "List"})
	return ref
}

func (d *drawer) lowerCase(objects []graph.Object, o graph.Object) metav1.OwnerReference {
	ref := to(d.owner(objects, o, reachable))
	ref.Kind = strings.ToLower(ref.Kind)
	return ref
}

func (d *drawer) otherVersion(objects []graph.Object, o graph.Object) metav1.OwnerReference {
	ref := to(d.owner(objects, o, func(o, owner graph.Object) bool { return owner.Kind == "Widget" && reachable(o, owner) }))
	if ref.Kind == "Widget" {
		ref.APIVersion = "acme.example/v1beta1"
	}
	return ref
}

func (d *drawer) itself(_ []graph.Object, o graph.Object) metav1.OwnerReference { return to(o) }

// twin names the same uid once more, under the same or other coordinates.
func (d *drawer) twin(ref metav1.OwnerReference) metav1.OwnerReference {
	ref.Controller = nil
	switch d.random.IntN(4) {
	case 0:
		ref.BlockOwnerDeletion = new(ref.BlockOwnerDeletion == nil || !*ref.BlockOwnerDeletion)
	case 1:
		ref.Kind = strings.ToLower(ref.Kind)
	case 2:
		ref.Kind, ref.APIVersion = "Gadget", "acme.example/v1"
	case 3:
		ref.Name = "nobody"
	}
	return ref
}
