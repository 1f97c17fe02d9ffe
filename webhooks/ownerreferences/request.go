package ownerreferences

import (
	"encoding/json"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// request is what of an admission request matters here.
type request struct {
	object metav1.PartialObjectMetadata
	user   authenticationv1.UserInfo

	// old says of each reference whether the object had it before, unchanged. Such a
	// reference counts for what becomes of the object and is not complained of: the
	// object must stay updatable (P01, H5).
	old []bool

	// deleting says that the object is being deleted; then every update passes (P08).
	deleting bool
}

// decode reads a request. Objects without metadata of their own (P21) have no
// references, and so nothing that could be judged.
func decode(review admission.Request) (request, error) {
	req := request{user: review.UserInfo}
	if err := unmarshal(review.Object.Raw, &req.object); err != nil {
		return request{}, fmt.Errorf("reading the object of the request: %w", err)
	}
	var before metav1.PartialObjectMetadata
	if err := unmarshal(review.OldObject.Raw, &before); err != nil {
		return request{}, fmt.Errorf("reading the old object of the request: %w", err)
	}
	req.object.SetGroupVersionKind(schema.GroupVersionKind(review.Kind))
	req.object.Namespace = review.Namespace
	if review.Resource.Group == "" && review.Resource.Resource == "namespaces" {
		req.object.Namespace = "" // the request carries the namespace's own name there
	}
	req.deleting = !before.DeletionTimestamp.IsZero()
	for _, ref := range req.object.OwnerReferences {
		req.old = append(req.old, slices.ContainsFunc(before.OwnerReferences, func(b metav1.OwnerReference) bool {
			return equality.Semantic.DeepEqual(ref, b)
		}))
	}
	return req, nil
}

// changed says whether there is anything to judge.
func (r request) changed() bool { return !r.deleting && slices.Contains(r.old, false) }

func unmarshal(raw []byte, into *metav1.PartialObjectMetadata) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return json.Unmarshal(raw, into)
}
