package teamspace

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/archive"
)

// markTerminating takes Ready back before anything else happens, and ends the pass
// when our finalizer is not there: then the TeamSpace is no longer ours to hold.
func (r *Reconciler) markTerminating(ctx context.Context, p *pass) (bool, error) {
	ns, err := r.namespace(ctx, r.Client, p.ts.Name)
	if err != nil {
		return false, err
	}
	if err := r.observeLeaving(ctx, p, ns); err != nil {
		return false, err
	}
	p.set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonTerminating, p.leaving())
	p.clear(v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled)
	if err := r.writeStatus(ctx, p); err != nil {
		return false, err
	}
	return controllerutil.ContainsFinalizer(p.ts, v1alpha1.Finalizer), nil
}

// leaving says why the TeamSpace is still there, as far as that is ours.
func (p *pass) leaving() string {
	if archived := p.condition(v1alpha1.ConditionArchived); archived != nil && archived.Status == metav1.ConditionFalse {
		return "the TeamSpace is being deleted, and stays until its record is stored: " + archived.Message
	}
	return "the TeamSpace is being deleted"
}

// observeLeaving says of namespace and quota what is true of them. They are kept no more,
// but a TeamSpace whose record cannot be stored may last for long.
func (r *Reconciler) observeLeaving(ctx context.Context, p *pass, ns *metav1.PartialObjectMetadata) error {
	switch c := r.claim(p.ts, ns); c {
	case claimOurs:
		p.accept(ns, c)
		return r.observeLeavingQuota(ctx, p)
	case claimNone:
		p.leave(v1alpha1.ConditionNamespaceReady, fmt.Sprintf("there is no namespace %q, and none is made", p.status.Namespace))
	default:
		p.leave(v1alpha1.ConditionNamespaceReady, fmt.Sprintf("namespace %q is left to the garbage collector or to its next owner", p.status.Namespace))
	}
	p.withoutNamespace()
	return nil
}

// observeLeavingQuota notes the count of the quota as long as it is there and as declared.
func (r *Reconciler) observeLeavingQuota(ctx context.Context, p *pass) error {
	quota := &corev1.ResourceQuota{}
	found, err := r.find(ctx, p, v1alpha1.QuotaName, quota)
	if err != nil {
		return err
	}
	// A spec that cannot be read is no reason to hold a TeamSpace that has to go.
	switch wanted, err := quotaSpec(p.ts.Spec); {
	case !found:
		p.leave(v1alpha1.ConditionQuotaInForce, "there is no quota, and none is made")
	case err != nil || !equality.Semantic.DeepEqual(quota.Spec, wanted):
		p.leave(v1alpha1.ConditionQuotaInForce, "the quota differs from what is declared, and is not put back")
	default:
		p.observeQuota(quota)
	}
	return nil
}

// leave says that something is not in force, and stays so.
func (p *pass) leave(condition, message string) {
	p.set(condition, metav1.ConditionFalse, v1alpha1.ReasonTerminating, message+" while the TeamSpace is being deleted")
}

// archiveRecord stores the record, built from the TeamSpace alone, and goes on only
// when it was read back. A TeamSpace that says Archived already may have been let go
// since, which the cache is the last to show: then there is nothing more to do.
func (r *Reconciler) archiveRecord(ctx context.Context, p *pass) (bool, error) {
	if meta.IsStatusConditionTrue(p.status.Conditions, v1alpha1.ConditionArchived) {
		if held, err := r.isHeld(ctx, p.ts); err != nil || !held {
			return false, err
		}
	}
	record, err := archive.NewRecord(p.ts, r.clock.Now())
	if err == nil {
		record, err = archive.Save(ctx, r.archive, record)
	}
	archiveWrites.WithLabelValues(outcome(err)).Inc()
	if err != nil {
		p.set(v1alpha1.ConditionArchived, metav1.ConditionFalse, v1alpha1.ReasonArchiveFailed, err.Error())
		p.set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonTerminating, p.leaving())
		if statusErr := r.writeStatus(ctx, p); statusErr != nil {
			return false, statusErr
		}
		return false, fmt.Errorf("archiving TeamSpace %q: %w", p.ts.Name, err)
	}
	p.set(v1alpha1.ConditionArchived, metav1.ConditionTrue, v1alpha1.ReasonArchiveWritten, "the record of uid "+record.UID+" is stored and was read back")
	p.set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonTerminating, p.leaving())
	return true, r.writeStatus(ctx, p)
}

// isHeld asks the API server whether a TeamSpace still has our finalizer.
func (r *Reconciler) isHeld(ctx context.Context, ts *v1alpha1.TeamSpace) (bool, error) {
	current := &v1alpha1.TeamSpace{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(ts), current); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return current.UID == ts.UID && controllerutil.ContainsFinalizer(current, v1alpha1.Finalizer), nil
}

// releaseIfTypeGoes keeps the removal of the CustomResourceDefinition from taking
// every team's namespace with it.
func (r *Reconciler) releaseIfTypeGoes(ctx context.Context, p *pass) (bool, error) {
	going, err := typeGoes(ctx, r.live)
	if err != nil || !going {
		return err == nil, err
	}
	return r.releaseNamespace(ctx, p)
}

// releaseNamespace takes our reference off the namespace, which becomes adoptable by a
// later TeamSpace of the same name.
func (r *Reconciler) releaseNamespace(ctx context.Context, p *pass) (bool, error) {
	ns, err := r.boundNamespace(ctx, p.ts)
	if err != nil {
		return false, err
	}
	if ns == nil {
		return true, nil
	}
	return true, r.patchNamespace(ctx, ns, released(p.ts, ns))
}

// boundNamespace reads live the namespace that would go together with the TeamSpace; nil
// if there is none. The collector looks at the uid alone, so that the label does not
// count here.
func (r *Reconciler) boundNamespace(ctx context.Context, ts *v1alpha1.TeamSpace) (*metav1.PartialObjectMetadata, error) {
	ns, err := r.namespace(ctx, r.live, ts.Name)
	if err != nil || ns == nil || !ns.DeletionTimestamp.IsZero() || !slices.ContainsFunc(ns.OwnerReferences, hasUID(ts)) {
		return nil, err
	}
	return ns, nil
}

// typeGoes asks the API server, never a cache, whether the CustomResourceDefinition
// is being deleted. One that is gone already is the same answer.
func typeGoes(ctx context.Context, live client.Reader) (bool, error) {
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	err := live.Get(ctx, client.ObjectKey{Name: v1alpha1.CRDName}, crd)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking whether CustomResourceDefinition %q is being deleted: %w", v1alpha1.CRDName, err)
	}
	return !crd.DeletionTimestamp.IsZero(), nil
}
