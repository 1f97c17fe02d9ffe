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
// who may not look (H6). It asks only where there is something to say, and once for each
// owner.
func (h *Handler) reveal(ctx context.Context, req request, found []inventory.Found, subject *explain.Subject) {
	told := map[int]bool{}
	first, _ := explain.Cut(explain.Problems(*subject))
	for _, problem := range first {
		told[problem.Index] = true
	}
	asked := permissions{access: h.access, user: req.user, known: map[place]bool{}}
	for i := range subject.References {
		ref := &subject.References[i]
		if !told[i] && ref.Class != rules.Waiting {
			continue // nothing of it shows
		}
		ref.Reveal = asked.mayGet(ctx, found[i].Owner, ref.Name)
		for _, hop := range found[i].Cycle {
			ref.Cycle = ref.Cycle && asked.mayGet(ctx, hop, hop.Found.Name)
		}
		if !ref.Reveal && ref.Class == rules.Waiting {
			// That an owner is being deleted is as much its secret as its uid.
			ref.Classification = rules.Classify(req.Object.Namespace, ref.OwnerReference, unremarkable(found[i].Facts))
		}
	}
}

// unremarkable are the facts of an owner that is not being deleted.
func unremarkable(facts rules.Facts) rules.Facts {
	facts.Deleting = false
	return facts
}

// place is what a permission is about.
type place struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

// permissions remembers what a user may read, for one request.
type permissions struct {
	access Access
	user   authenticationv1.UserInfo
	known  map[place]bool
}

// mayGet reports whether the user may read an owner; not, if that cannot be found out or
// there is nothing that could be read.
func (p permissions) mayGet(ctx context.Context, owner inventory.Owner, name string) bool {
	if owner.Resource.Empty() {
		return false
	}
	at := place{owner.Resource, owner.Namespace, name}
	may, asked := p.known[at]
	if !asked {
		allowed, err := p.access.MayGet(ctx, p.user, at.resource, at.namespace, at.name)
		may = allowed && err == nil
		p.known[at] = may
	}
	return may
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
