package ownerreferences

import (
	"encoding/json"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"labhub.io/teamspace/inventory"
)

// request is what of an admission request matters here.
type request struct {
	inventory.Change

	user authenticationv1.UserInfo

	// deleting says that the object is being deleted; then every update passes (P08).
	deleting bool
}

// decode reads a request. Objects without metadata of their own (P21) have no
// references, and so nothing that could be judged.
func decode(review admission.Request) (request, error) {
	if review.UID == "" && review.Operation == "" {
		return request{}, errors.New("the review holds no request")
	}
	var object, before metav1.PartialObjectMetadata
	if err := unmarshal(review.Object.Raw, &object); err != nil {
		return request{}, fmt.Errorf("reading the object of the request: %w", err)
	}
	if err := unmarshal(review.OldObject.Raw, &before); err != nil {
		return request{}, fmt.Errorf("reading the old object of the request: %w", err)
	}
	object.SetGroupVersionKind(schema.GroupVersionKind(review.Kind))
	object.Namespace = review.Namespace
	if review.Resource.Group == "" && review.Resource.Resource == "namespaces" {
		object.Namespace = "" // the request carries the namespace's own name there
	}
	return request{
		Change:   inventory.NewChange(object, before, review.Operation == admissionv1.Create),
		user:     review.UserInfo,
		deleting: !before.DeletionTimestamp.IsZero(),
	}, nil
}

// changed says whether there is anything to judge.
func (r request) changed() bool { return !r.deleting && r.Changed() }

func unmarshal(raw []byte, into *metav1.PartialObjectMetadata) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return json.Unmarshal(raw, into)
}
