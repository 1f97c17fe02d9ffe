package ownerreferences

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/rules"
)

// Access asks whether a user may get an object.
type Access interface {
	MayGet(ctx context.Context, user authenticationv1.UserInfo, resource schema.GroupVersionResource, namespace, name string) (bool, error)
}

// reveal lets the sentences name what the caller may read anyway, and drops what
// would tell more: a guard that answers "that is not there" is an oracle for those
// who may not look (H6). It runs only where there is something to say.
func (h *Handler) reveal(ctx context.Context, req request, owners []inventory.Owner, subject *explain.Subject) {
	for i := range subject.References {
		ref := &subject.References[i]
		if owners[i].Resource.Empty() || ref.Old && ref.Class != rules.Waiting {
			continue // nothing was read, or nothing of it shows
		}
		may, err := h.access.MayGet(ctx, req.user, owners[i].Resource, owners[i].Namespace, ref.Name)
		ref.Reveal = may && err == nil
		if ref.Reveal {
			continue
		}
		ref.Cycle = false
		if ref.Class == rules.Waiting {
			// That an owner is being deleted is as much its secret as its uid.
			ref.Classification = rules.Classify(req.object.Namespace, ref.OwnerReference, unremarkable(owners[i].Facts))
		}
	}
}

// unremarkable are the facts of an owner that is not being deleted.
func unremarkable(facts rules.Facts) rules.Facts {
	facts.Deleting = false
	return facts
}

// AccessReviews asks the API server by SubjectAccessReview.
type AccessReviews struct{ Client client.Client }

// MayGet implements Access.
func (a AccessReviews) MayGet(ctx context.Context, user authenticationv1.UserInfo, resource schema.GroupVersionResource, namespace, name string) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, Groups: user.Groups, UID: user.UID, Extra: extra(user.Extra),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "get", Group: resource.Group, Version: resource.Version, Resource: resource.Resource,
			Namespace: namespace, Name: name,
		},
	}}
	if err := a.Client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("asking whether %q may get %s %q: %w", user.Username, resource.Resource, name, err)
	}
	return review.Status.Allowed, nil
}

func extra(values map[string]authenticationv1.ExtraValue) map[string]authorizationv1.ExtraValue {
	converted := make(map[string]authorizationv1.ExtraValue, len(values))
	for key, value := range values {
		converted[key] = authorizationv1.ExtraValue(value)
	}
	return converted
}
