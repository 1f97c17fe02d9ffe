package inventory

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// GetByList returns a client that reads a single object by a list of this one name where
// the user may list a type and not get it.
func GetByList(client metadata.Interface) metadata.Interface { return byList{client} }

type byList struct{ metadata.Interface }

// Resource implements metadata.Interface.
func (b byList) Resource(resource schema.GroupVersionResource) metadata.Getter {
	getter := b.Interface.Resource(resource)
	return byListEverywhere{getter, byListGetter{getter, resource}}
}

type byListEverywhere struct {
	metadata.Getter

	getter byListGetter
}

// Namespace implements metadata.Getter.
func (b byListEverywhere) Namespace(namespace string) metadata.ResourceInterface {
	return byListGetter{b.Getter.Namespace(namespace), b.getter.resource}
}

// Get implements metadata.ResourceInterface.
func (b byListEverywhere) Get(ctx context.Context, name string, options metav1.GetOptions, subresources ...string) (*metav1.PartialObjectMetadata, error) {
	return b.getter.Get(ctx, name, options, subresources...)
}

type byListGetter struct {
	metadata.ResourceInterface

	resource schema.GroupVersionResource
}

// Get implements metadata.ResourceInterface.
func (b byListGetter) Get(ctx context.Context, name string, options metav1.GetOptions, subresources ...string) (*metav1.PartialObjectMetadata, error) {
	object, err := b.ResourceInterface.Get(ctx, name, options, subresources...)
	if !apierrors.IsForbidden(err) || len(subresources) > 0 {
		return object, err
	}
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	list, listErr := b.List(ctx, metav1.ListOptions{FieldSelector: only})
	switch {
	case listErr != nil:
		return nil, err // that of the GET says what is missing
	case len(list.Items) == 0:
		return nil, apierrors.NewNotFound(b.resource.GroupResource(), name)
	default:
		return &list.Items[0], nil
	}
}
