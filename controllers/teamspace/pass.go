package teamspace

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/api/v1alpha1"
)

// pass is what one Reconcile knows and wants.
type pass struct {
	// ts is the TeamSpace as the API server last returned it.
	ts *v1alpha1.TeamSpace

	// status is what the pass wants to be written.
	status v1alpha1.TeamSpaceStatus

	// namespace is the team's namespace once it is known to be ours.
	namespace *metav1.PartialObjectMetadata

	// settled says that the status spoke of this generation as served already, so
	// that what differs now was changed by somebody else: drift.
	settled bool

	// noticed is when a watch told of the change that led here; zero if none did.
	noticed time.Time
}

// step is one part of a pass. It says whether the next step makes sense; if not,
// a watch brings the next pass.
type step func(ctx context.Context, p *pass) (next bool, err error)

func newPass(ts *v1alpha1.TeamSpace, noticed time.Time) *pass {
	p := &pass{ts: ts, noticed: noticed}
	ts.Status.DeepCopyInto(&p.status)
	p.settled = wasServed(ts)
	p.status.ObservedGeneration = ts.Generation
	p.status.Namespace = v1alpha1.NamespaceFor(ts.Name)
	return p
}

// wasServed says whether an earlier pass wrote all that the present spec asks for.
func wasServed(ts *v1alpha1.TeamSpace) bool {
	ready := meta.FindStatusCondition(ts.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ts.Status.ObservedGeneration != ts.Generation {
		return false
	}
	switch ready.Reason {
	case v1alpha1.ReasonServing, v1alpha1.ReasonAwaitingQuotaController, v1alpha1.ReasonNamespaceTerminating:
		return true
	default:
		return false
	}
}

func (p *pass) run(ctx context.Context, steps ...step) error {
	for _, do := range steps {
		next, err := do(ctx, p)
		if err != nil || !next {
			return err
		}
	}
	return nil
}

func (p *pass) set(conditionType string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&p.status.Conditions, metav1.Condition{
		Type:               conditionType,
		Status:             status,
		Reason:             reason,
		Message:            message,
		ObservedGeneration: p.ts.Generation,
	})
}

func (p *pass) clear(conditionTypes ...string) {
	for _, conditionType := range conditionTypes {
		meta.RemoveStatusCondition(&p.status.Conditions, conditionType)
	}
}

func (p *pass) condition(conditionType string) *metav1.Condition {
	return meta.FindStatusCondition(p.status.Conditions, conditionType)
}
