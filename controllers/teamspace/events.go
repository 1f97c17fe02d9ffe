package teamspace

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/api/v1alpha1"
)

// event is something that happened to a TeamSpace, once, told in the past tense.
type event struct {
	kind, reason, action, message string
}

func (r *Reconciler) report(ts *v1alpha1.TeamSpace, happened ...event) {
	for _, e := range happened {
		r.recorder.Eventf(ts, nil, e.kind, e.reason, e.action, "%s", e.message)
	}
}

// transitions are the events between two statuses: none where nothing changed.
func transitions(before, after []metav1.Condition) []event {
	var happened []event
	tell := func(conditionType string, status metav1.ConditionStatus, kind, action string) {
		now := meta.FindStatusCondition(after, conditionType)
		was := meta.FindStatusCondition(before, conditionType)
		if now == nil || now.Status != status || was != nil && was.Status == status && was.Reason == now.Reason {
			return
		}
		happened = append(happened, event{kind, now.Reason, action, now.Message})
	}
	tell(v1alpha1.ConditionReady, metav1.ConditionTrue, corev1.EventTypeNormal, "Serve")
	tell(v1alpha1.ConditionStalled, metav1.ConditionTrue, corev1.EventTypeWarning, "Serve")
	tell(v1alpha1.ConditionArchived, metav1.ConditionTrue, corev1.EventTypeNormal, "Archive")
	tell(v1alpha1.ConditionArchived, metav1.ConditionFalse, corev1.EventTypeWarning, "Archive")
	return happened
}

// repaired counts and tells of a write that undid somebody else's change. A first
// write, or one that follows a change of the spec, is no repair.
func (r *Reconciler) repaired(p *pass, kind, cause string) {
	if !p.settled {
		return
	}
	driftRepairs.WithLabelValues(kind, cause).Inc()
	if !p.noticed.IsZero() {
		driftRepairSeconds.WithLabelValues(kind).Observe(r.clock.Since(p.noticed).Seconds())
	}
	// The kind is part of the action, so that repairs of different objects are not
	// counted as one event.
	r.report(p.ts, event{corev1.EventTypeNormal, "DriftRepaired", "Repair" + kind,
		fmt.Sprintf("the %s of %q was %s by somebody else and has been put back as declared", kind, p.status.Namespace, cause)})
}

// reportMended tells how the owner of a namespace was settled.
func (r *Reconciler) reportMended(p *pass, before, after claim) {
	ns := p.status.Namespace
	switch {
	case before == claimLoose && after == claimOurs:
		r.repaired(p, "Owner", causeEdited)
	case after == claimOurs:
		r.report(p.ts, event{corev1.EventTypeNormal, "Adopted", "Adopt", fmt.Sprintf("namespace %q was adopted", ns)})
	case before == claimStale:
		r.report(p.ts, event{corev1.EventTypeWarning, "StaleOwnerDropped", "Release",
			fmt.Sprintf("the reference of namespace %q to an earlier TeamSpace %q was dropped, so that the garbage collector spares it", ns, p.ts.Name)})
	}
}
