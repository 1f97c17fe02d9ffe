package inventory

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// MaxOwners is how many different owners a change may add or change. More could not be
// looked at in time, and what is not looked at passes.
const MaxOwners = 200

// Change is an object as somebody wants it to be, with what of its references is new.
type Change struct {
	Object metav1.PartialObjectMetadata

	// Old says of each reference whether the object had it before, unchanged. Such a
	// reference counts for what becomes of the object and is not complained of: the
	// object must stay updatable (P01, H5).
	Old []bool

	// Latent says that every reference that counts as changed had its uid in the list
	// before: the collector notices only uids that are added (R17).
	Latent bool

	// Creates says that the object is being made: nothing can be owned by it yet.
	Creates bool
}

// NewChange compares an object with what it was before; of one that is being made that
// is an empty object.
func NewChange(object, before metav1.PartialObjectMetadata, creates bool) Change {
	c := Change{Object: object, Creates: creates, Latent: true}
	for _, ref := range object.OwnerReferences {
		old := slices.ContainsFunc(before.OwnerReferences, unchanged(ref))
		c.Old = append(c.Old, old)
		c.Latent = c.Latent && (old || slices.ContainsFunc(before.OwnerReferences, sameUID(ref)))
	}
	return c
}

// Changed says whether there is anything to judge.
func (c Change) Changed() bool { return slices.Contains(c.Old, false) }

// NewOwners counts the owners that new or changed references name.
func (c Change) NewOwners() int {
	named := map[coordinates]bool{}
	for i, ref := range c.Object.OwnerReferences {
		if !c.Old[i] {
			named[coordinatesOf(ref)] = true
		}
	}
	return len(named)
}

// Subject puts what was found of the references, in their order, together for a verdict.
// Nothing that was found is revealed yet.
func (c Change) Subject(found []Found) explain.Subject {
	subject := explain.Subject{Latent: c.Latent, Target: TargetOf(&c.Object)}
	for i, ref := range c.Object.OwnerReferences {
		judged := found[i].Reference(c.Object.Namespace, ref)
		judged.Old = c.Old[i]
		judged.Cycle = len(found[i].Cycle) > 0
		subject.References = append(subject.References, judged)
	}
	return subject
}

// TargetOf names an object that knows its kind.
func TargetOf(o *metav1.PartialObjectMetadata) explain.Target {
	return explain.Target{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID}
}

// Reference is the reference of an object in the namespace together with its owner.
func (o Owner) Reference(namespace string, ref metav1.OwnerReference) explain.Reference {
	return explain.Reference{
		OwnerReference: ref,
		Classification: rules.Classify(namespace, ref, o.Facts),
		Mapping:        o.Facts.Mapping,
		Found:          o.other(ref),
		Suggest:        o.Suggest,
	}
}

// other is the object under the owner's name, if it is not the owner itself.
func (o Owner) other(ref metav1.OwnerReference) *explain.Target {
	if o.Found == nil || o.Found.UID == ref.UID {
		return nil
	}
	return &explain.Target{
		APIVersion: ref.APIVersion, Kind: o.Facts.Mapping.Type.Kind,
		Namespace: o.Found.Namespace, Name: o.Found.Name, UID: o.Found.UID,
	}
}

// unchanged matches a reference that meant the same before. Whether it controls the
// object makes no difference to the collector, and one that has ceased to block its owner
// is harmless: the collector writes that itself to break a cycle (R09).
func unchanged(ref metav1.OwnerReference) func(metav1.OwnerReference) bool {
	return func(before metav1.OwnerReference) bool {
		return coordinatesOf(ref) == coordinatesOf(before) && ref.UID == before.UID && (blocks(before) || !blocks(ref))
	}
}

func blocks(ref metav1.OwnerReference) bool {
	return ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
}

func sameUID(ref metav1.OwnerReference) func(metav1.OwnerReference) bool {
	return func(before metav1.OwnerReference) bool { return before.UID == ref.UID }
}

type coordinates struct{ apiVersion, kind, name string }

func coordinatesOf(ref metav1.OwnerReference) coordinates {
	return coordinates{ref.APIVersion, ref.Kind, ref.Name}
}

// assumed is an owner that is not looked at: as if it were there.
func assumed(ref metav1.OwnerReference) Owner {
	served := graph.Mapping{Type: graph.Type{APIVersion: ref.APIVersion, Kind: ref.Kind, Serving: graph.Served}}
	return Owner{Facts: rules.Facts{Mapping: served, Answer: rules.Found, UID: ref.UID}}
}
