package teamspace

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
)

// How long a pass waits for the cache to show a namespace that it has just made.
const (
	cachePoll    = 2 * time.Millisecond
	cacheTimeout = 10 * time.Second
)

// ensureNamespace makes the namespace, or says why it cannot be had.
func (r *Reconciler) ensureNamespace(ctx context.Context, p *pass) (bool, error) {
	ns, err := r.namespace(ctx, r.Client, p.ts.Name)
	if err != nil {
		return false, err
	}
	if r.claim(p.ts, ns) == claimNone {
		ns, err = r.createNamespace(ctx, p)
		if err != nil {
			return false, err
		}
	}
	switch c := r.claim(p.ts, ns); c {
	case claimLoose, claimStale, claimAdoptable:
		return r.mendNamespace(ctx, p)
	default:
		return p.accept(ns, c), nil
	}
}

// accept notes what a claim means for the status, and says whether the namespace is
// ours to fill.
func (p *pass) accept(ns *metav1.PartialObjectMetadata, c claim) bool {
	v := c.verdict(p.ts.Name)
	p.set(v1alpha1.ConditionNamespaceReady, v.status, v.reason, v.message)
	if v.status != metav1.ConditionTrue {
		p.withoutNamespace()
		return false
	}
	p.namespace = ns
	return true
}

// withoutNamespace says of the quota that there is nowhere to keep it.
func (p *pass) withoutNamespace() {
	p.set(v1alpha1.ConditionQuotaInForce, metav1.ConditionFalse, v1alpha1.ReasonNamespaceNotReady,
		"there is no namespace to keep the quota in: see the condition "+v1alpha1.ConditionNamespaceReady)
}

// createNamespace makes the namespace with the ownerReference in it from the first
// moment. It is a create and not an apply, because an apply would take over a
// namespace that somebody made since the cache was read.
func (r *Reconciler) createNamespace(ctx context.Context, p *pass) (*metav1.PartialObjectMetadata, error) {
	p.set(v1alpha1.ConditionNamespaceReady, metav1.ConditionFalse, v1alpha1.ReasonProgressing, "the namespace is being made")
	p.withoutNamespace()
	wanted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:            v1alpha1.NamespaceFor(p.ts.Name),
		Labels:          map[string]string{v1alpha1.LabelTeamSpace: p.ts.Name},
		OwnerReferences: []metav1.OwnerReference{ownerReference(p.ts)},
	}}
	// Namespaces are cached by their metadata; the client can only wait for writes in
	// the form in which it reads, so that awaitCached does it here.
	err := r.Create(ctx, wanted, fieldOwner, client.DisableReadYourWritesConsistency)
	if apierrors.IsAlreadyExists(err) {
		return r.namespace(ctx, r.live, p.ts.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("creating Namespace %q: %w", wanted.Name, err)
	}
	r.repaired(p, "Namespace", causeDeleted)
	p.settled = false // what it held went with it, and is no drift of its own
	return r.awaitCached(ctx, p.ts.Name, wanted.UID)
}

// awaitCached returns the namespace once the cache shows it. Without it the next
// pass, which the status write of this one brings at once, would create it again.
func (r *Reconciler) awaitCached(ctx context.Context, teamSpace string, uid types.UID) (*metav1.PartialObjectMetadata, error) {
	var ns *metav1.PartialObjectMetadata
	err := wait.PollUntilContextTimeout(ctx, cachePoll, cacheTimeout, true, func(ctx context.Context) (bool, error) {
		var err error
		ns, err = r.namespace(ctx, r.Client, teamSpace)
		return ns != nil && ns.UID == uid, err
	})
	if err != nil {
		return nil, fmt.Errorf("waiting for the cache to show Namespace %q: %w", v1alpha1.NamespaceFor(teamSpace), err)
	}
	return ns, nil
}

// mendNamespace settles what the cache says about the owner of a namespace: it
// repairs our reference, drops that of an earlier TeamSpace, adopts. A cache that is
// behind could make us drop a good reference, so that both objects are read live.
func (r *Reconciler) mendNamespace(ctx context.Context, p *pass) (bool, error) {
	current := &v1alpha1.TeamSpace{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(p.ts), current); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if current.UID != p.ts.UID || !current.DeletionTimestamp.IsZero() {
		return false, nil // the watch brings the TeamSpace that is there now
	}
	ns, err := r.namespace(ctx, r.live, p.ts.Name)
	if err != nil {
		return false, err
	}
	before := r.claim(p.ts, ns)
	if before == claimNone {
		return p.accept(ns, before), nil // the watch brings the pass that makes it
	}
	mended := r.mend(p.ts, ns)
	if equality.Semantic.DeepEqual(ns, mended) {
		return p.accept(ns, before), nil // the cache was behind
	}
	if err := r.patchNamespace(ctx, ns, mended); err != nil {
		return false, err
	}
	after := r.claim(p.ts, mended)
	r.reportMended(p, before, after)
	return p.accept(mended, after), nil
}

// patchNamespace writes the difference, unless anybody has written since.
func (r *Reconciler) patchNamespace(ctx context.Context, from, to *metav1.PartialObjectMetadata) error {
	patch := client.MergeFromWithOptions(from, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, to, patch, fieldOwner); err != nil {
		return fmt.Errorf("changing the owner of Namespace %q: %w", to.Name, err)
	}
	return nil
}

// namespace reads the metadata of a TeamSpace's namespace; nil if there is none.
func (r *Reconciler) namespace(ctx context.Context, from client.Reader, teamSpace string) (*metav1.PartialObjectMetadata, error) {
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := from.Get(ctx, client.ObjectKey{Name: v1alpha1.NamespaceFor(teamSpace)}, ns)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // no namespace is an answer, not a failure
	}
	if err != nil {
		return nil, fmt.Errorf("reading Namespace %q: %w", v1alpha1.NamespaceFor(teamSpace), err)
	}
	return ns, nil
}
