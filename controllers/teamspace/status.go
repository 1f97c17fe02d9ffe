package teamspace

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
)

// summarize derives the root conditions of a living TeamSpace from the others and
// from the error that ended the pass.
func (p *pass) summarize(err error) {
	for _, part := range []string{v1alpha1.ConditionNamespaceReady, v1alpha1.ConditionQuotaInForce} {
		c := p.condition(part)
		if c != nil && c.Status == metav1.ConditionTrue {
			if c.ObservedGeneration == p.ts.Generation {
				continue
			}
			c = nil // it speaks of an earlier generation: this pass ended before it
		}
		p.notReady(c, err)
		return
	}
	if err != nil {
		p.notReady(nil, err)
		return
	}
	p.set(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonServing,
		fmt.Sprintf("namespace %q is Active and its quota is enforced", p.status.Namespace))
	p.clear(v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled)
}

// notReady says why, by the first part that is missing or by the error. A conflict
// needs a person (Stalled); all else is on its way (Reconciling).
func (p *pass) notReady(missing *metav1.Condition, err error) {
	reason, message := v1alpha1.ReasonProgressing, "work is under way"
	if missing != nil {
		reason, message = missing.Reason, missing.Message
	}
	if err != nil && !errors.Is(err, errNamespaceGoing) {
		reason, message = v1alpha1.ReasonProgressing, "trying again after an error: "+err.Error()
	}
	p.set(v1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	if reason == v1alpha1.ReasonNamespaceConflict {
		p.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, message)
		p.clear(v1alpha1.ConditionReconciling)
		return
	}
	p.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
	p.clear(v1alpha1.ConditionStalled)
}

// writeStatus writes the status if it differs, and tells of what changed by events.
// It is refused when anybody has written since the TeamSpace was read, so that a
// pass over an older generation, or over an earlier TeamSpace of the same name,
// never has the last word.
func (r *Reconciler) writeStatus(ctx context.Context, p *pass) error {
	if equality.Semantic.DeepEqual(p.ts.Status, p.status) {
		return nil
	}
	before := p.ts.DeepCopy()
	p.status.DeepCopyInto(&p.ts.Status)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, p.ts, patch, fieldOwner); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("writing the status of TeamSpace %q: %w", p.ts.Name, err)
	}
	r.report(p.ts, transitions(before.Status.Conditions, p.status.Conditions)...)
	return nil
}
