package ownerreferences

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
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

	// latent says that every reference that counts as changed had its uid in the list
	// before: the collector notices only uids that are added (R17).
	latent bool

	// creates says that the object is being made: nothing can be owned by it yet.
	creates bool

	// deleting says that the object is being deleted; then every update passes (P08).
	deleting bool
}

// decode reads a request. Objects without metadata of their own (P21) have no
// references, and so nothing that could be judged.
func decode(review admission.Request) (request, error) {
	if review.UID == "" && review.Operation == "" {
		return request{}, errors.New("the review holds no request")
	}
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
	req.creates = review.Operation == admissionv1.Create
	req.deleting = !before.DeletionTimestamp.IsZero()
	req.latent = true
	for _, ref := range req.object.OwnerReferences {
		old := slices.ContainsFunc(before.OwnerReferences, unchanged(ref))
		req.old = append(req.old, old)
		req.latent = req.latent && (old || slices.ContainsFunc(before.OwnerReferences, sameUID(ref)))
	}
	return req, nil
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

// changed says whether there is anything to judge.
func (r request) changed() bool { return !r.deleting && slices.Contains(r.old, false) }

func unmarshal(raw []byte, into *metav1.PartialObjectMetadata) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return json.Unmarshal(raw, into)
}
