package inventory

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// Owner is what a live look at one reference brought.
type Owner struct {
	// Facts are what rules.Classify asks for.
	Facts rules.Facts

	// Found is the object under that kind and name, whatever its uid; nil if there
	// is none or it could not be read.
	Found *metav1.PartialObjectMetadata

	// Resource is what a GET of the owner reads; empty if the kind does not resolve.
	Resource schema.GroupVersionResource

	// Namespace is where the owner was looked for, "" for a cluster-scoped kind.
	Namespace string

	// Suggest are the served types that have the kind.
	Suggest []graph.Type

	// Err is why the owner, or what is served, could not be read.
	Err error
}

// Reader reads owners live. It may be used by several goroutines at once.
type Reader struct {
	catalog *Catalog
	objects metadata.Interface
	clock   clock.PassiveClock
}

// NewReader returns a reader.
func NewReader(catalog *Catalog, objects metadata.Interface) *Reader {
	return &Reader{catalog: catalog, objects: objects, clock: clock.RealClock{}}
}

// Now is the moment that a request begins, for GetOwner.
func (r *Reader) Now() time.Time { return r.clock.Now() }

// GetOwner looks at the owner that a reference of an object in the namespace names. What
// would speak against the reference, and rests on types that were read before the
// request began, is looked at a second time with those that are served now: a kind that
// does not resolve, one whose scope does not fit, an owner that is not there. Nothing is
// ever held against a reference because of a cache, and one request reads the types once
// at most.
func (r *Reader) GetOwner(ctx context.Context, began time.Time, namespace string, ref metav1.OwnerReference) Owner {
	owner := r.get(ctx, namespace, ref, time.Time{})
	class := rules.Classify(namespace, ref, owner.Facts).Class
	if class == rules.Solid || class == rules.Waiting || class == rules.Unknown || owner.Found != nil {
		return owner
	}
	return r.get(ctx, namespace, ref, began)
}

func (r *Reader) get(ctx context.Context, namespace string, ref metav1.OwnerReference, notBefore time.Time) Owner {
	snapshot, err := r.catalog.Snapshot(ctx, notBefore)
	if err != nil {
		return unknown(err)
	}
	owner, decided := withoutReading(snapshot.Types, namespace, ref)
	owner.Suggest = snapshot.suggest(ref)
	resource, ok := snapshot.Resource(owner.Facts.Mapping.Type)
	if decided || !ok {
		return owner
	}
	owner.Resource = resource
	owner.Found, err = r.getMetadata(ctx, resource, owner.Namespace, ref.Name)
	owner.Facts.Answer = answer(err)
	if owner.Facts.Answer == rules.Failed {
		owner.Err = err
	}
	if err == nil {
		owner.Facts.UID = owner.Found.UID
		owner.Facts.Deleting = !owner.Found.DeletionTimestamp.IsZero()
		owner.Facts.Finalizers = owner.Found.Finalizers
	}
	return owner
}

// withoutReading is what the types alone tell of an owner; it reports whether a GET would
// tell no more.
func withoutReading(types *graph.Types, namespace string, ref metav1.OwnerReference) (owner Owner, decided bool) {
	mapping := types.Resolve(ref.APIVersion, ref.Kind)
	owner.Facts.Mapping = mapping
	var somewhere bool
	owner.Namespace, somewhere = rules.Where(namespace, mapping.Type)
	switch {
	case mapping.NoResource:
		owner.Facts.Answer = rules.NotFound
		return owner, true
	case !mapping.Resolves() || !somewhere:
		return owner, true
	case rules.ImpossibleName(ref.Name):
		// No object is called like that, and as part of a URL it would lead elsewhere.
		owner.Facts.Answer = rules.NotFound
		return owner, true
	default:
		return owner, false
	}
}

// unknown is what is known when discovery does not answer: as if the type were
// served and the GET had failed, which is never a reason to deny (K5).
func unknown(err error) Owner {
	return Owner{Err: err, Facts: rules.Facts{Mapping: graph.Mapping{Type: graph.Type{Serving: graph.Served}}, Answer: rules.Failed}}
}

func (r *Reader) getMetadata(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	if namespace == "" {
		return r.objects.Resource(resource).Get(ctx, name, metav1.GetOptions{})
	}
	return r.objects.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

func answer(err error) rules.Answer {
	switch {
	case err == nil:
		return rules.Found
	case apierrors.IsNotFound(err):
		return rules.NotFound
	default:
		return rules.Failed
	}
}
