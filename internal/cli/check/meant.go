package check

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// place is what one list is of.
type place struct {
	resource  schema.GroupVersionResource
	namespace string
}

// meant are the problems of a subject once it is known whose uid a reference has that names
// nobody: that of an object of the same kind, in the namespace where the owner has to be, is
// found by one list. nil if that tells no more.
func (j *judge) meant(ctx context.Context, subject explain.Subject) []explain.Problem {
	if j.online == nil {
		return nil
	}
	known := false
	subject.References = slices.Clone(subject.References)
	for i := range subject.References {
		ref := &subject.References[i]
		if ref.Class != rules.Absent || ref.Mapping.NoResource {
			continue
		}
		ref.Elsewhere = j.online.find(ctx, subject.Namespace, ref)
		known = known || ref.Elsewhere != nil
	}
	if !known {
		return nil
	}
	return explain.Problems(subject)
}

// find finds the object that has the uid of a reference, whatever its name.
func (o *online) find(ctx context.Context, namespace string, ref *explain.Reference) *explain.Target {
	resource, ok := o.snapshot.Resource(ref.Mapping.Type)
	where, somewhere := rules.Where(namespace, ref.Mapping.Type)
	if !ok || !somewhere {
		return nil
	}
	list := o.list(ctx, place{resource, where})
	if list == nil {
		return nil
	}
	i := slices.IndexFunc(list.Items, func(item metav1.PartialObjectMetadata) bool { return item.UID == ref.UID })
	if i < 0 {
		return nil
	}
	found := list.Items[i]
	found.SetGroupVersionKind(kindOf(ref.Mapping.Type))
	target := inventory.TargetOf(&found)
	return &target
}

func kindOf(t graph.Type) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(t.APIVersion, t.Kind)
}

// list reads a list once for all references. Where somebody may not, less is known, and the
// guard's words stand.
func (o *online) list(ctx context.Context, at place) *metav1.PartialObjectMetadataList {
	if list, ok := o.lists[at]; ok {
		return list
	}
	var from metadata.ResourceInterface = o.objects.Resource(at.resource)
	if at.namespace != "" {
		from = o.objects.Resource(at.resource).Namespace(at.namespace)
	}
	list, err := from.List(ctx, metav1.ListOptions{})
	if err != nil {
		list = nil
	}
	o.lists[at] = list
	return list
}
