package teamspace

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/api/v1alpha1"
)

var errBoom = errors.New("boom")

func TestSummarize(t *testing.T) {
	tests := map[string]struct {
		claim      claim
		quota      bool
		err        error
		wantReady  metav1.ConditionStatus
		wantReason string
		wantSigns  []string // Reconciling, Stalled
	}{
		"all in force":                {claimOurs, true, nil, metav1.ConditionTrue, v1alpha1.ReasonServing, nil},
		"quota applied only":          {claimOurs, false, nil, metav1.ConditionFalse, v1alpha1.ReasonAwaitingQuotaController, []string{v1alpha1.ConditionReconciling}},
		"all in force, then an error": {claimOurs, true, errBoom, metav1.ConditionFalse, v1alpha1.ReasonProgressing, []string{v1alpha1.ConditionReconciling}},
		"namespace being deleted":     {claimTerminating, false, nil, metav1.ConditionFalse, v1alpha1.ReasonNamespaceTerminating, []string{v1alpha1.ConditionReconciling}},
		"namespace of somebody else":  {claimForeign, false, nil, metav1.ConditionFalse, v1alpha1.ReasonNamespaceConflict, []string{v1alpha1.ConditionStalled}},
		"protected namespace":         {claimProtected, false, nil, metav1.ConditionFalse, v1alpha1.ReasonNamespaceConflict, []string{v1alpha1.ConditionStalled}},
		"gone under the pass":         {claimOurs, false, errNamespaceGoing, metav1.ConditionFalse, v1alpha1.ReasonAwaitingQuotaController, []string{v1alpha1.ConditionReconciling}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPass(teamSpace(), time.Time{})
			if p.accept(namespaceOf(), tc.claim) {
				quota := &corev1.ResourceQuota{}
				if !tc.quota {
					quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: {}}
				}
				p.observeQuota(quota)
			}
			p.summarize(tc.err)
			ready := p.condition(v1alpha1.ConditionReady)
			if ready.Status != tc.wantReady || ready.Reason != tc.wantReason {
				t.Errorf("Ready = %s %s, want %s %s", ready.Status, ready.Reason, tc.wantReady, tc.wantReason)
			}
			var signs []string
			for _, sign := range []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
				if meta.IsStatusConditionTrue(p.status.Conditions, sign) {
					signs = append(signs, sign)
				}
			}
			if diff := cmp.Diff(tc.wantSigns, signs); diff != "" {
				t.Errorf("kstatus signs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSummarize_clearsTheSignsOfBefore(t *testing.T) {
	ts := teamSpace()
	p := newPass(ts, time.Time{})
	p.accept(namespaceOf(), claimForeign)
	p.summarize(nil)
	ts.Status = p.status
	p = newPass(ts, time.Time{})
	p.accept(namespaceOf(), claimOurs)
	p.observeQuota(&corev1.ResourceQuota{})
	p.summarize(nil)
	for _, sign := range []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
		if p.condition(sign) != nil {
			t.Errorf("%s is still there", sign)
		}
	}
}

func TestNewPass_settled(t *testing.T) {
	served := func(reason string, observed int64) *v1alpha1.TeamSpace {
		ts := teamSpace()
		ts.Generation = 2
		ts.Status.ObservedGeneration = observed
		ts.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: reason}}
		return ts
	}
	tests := map[string]struct {
		ts   *v1alpha1.TeamSpace
		want bool
	}{
		"never seen":                        {teamSpace(), false},
		"served":                            {served(v1alpha1.ReasonServing, 2), true},
		"repaired, quota not in force yet":  {served(v1alpha1.ReasonAwaitingQuotaController, 2), true},
		"namespace deleted by somebody":     {served(v1alpha1.ReasonNamespaceTerminating, 2), true},
		"served, but the spec changed":      {served(v1alpha1.ReasonServing, 1), false},
		"an earlier pass ended half way":    {served(v1alpha1.ReasonProgressing, 2), false},
		"the namespace was somebody else's": {served(v1alpha1.ReasonNamespaceConflict, 2), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := newPass(tc.ts, time.Time{}).settled; got != tc.want {
				t.Errorf("settled = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestTransitions(t *testing.T) {
	condition := func(conditionType string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: status, Reason: reason}
	}
	ready := condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonServing)
	waiting := condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonAwaitingQuotaController)
	stalled := condition(v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNamespaceConflict)
	failed := condition(v1alpha1.ConditionArchived, metav1.ConditionFalse, v1alpha1.ReasonArchiveFailed)
	written := condition(v1alpha1.ConditionArchived, metav1.ConditionTrue, v1alpha1.ReasonArchiveWritten)
	tests := map[string]struct {
		before, after []metav1.Condition
		want          []string
	}{
		"nothing changed":           {[]metav1.Condition{ready}, []metav1.Condition{ready}, nil},
		"becoming ready":            {[]metav1.Condition{waiting}, []metav1.Condition{ready}, []string{v1alpha1.ReasonServing}},
		"waiting is no event":       {nil, []metav1.Condition{waiting}, nil},
		"a conflict, told once":     {nil, []metav1.Condition{stalled}, []string{v1alpha1.ReasonNamespaceConflict}},
		"a conflict that goes on":   {[]metav1.Condition{stalled}, []metav1.Condition{stalled}, nil},
		"the archive fails":         {nil, []metav1.Condition{failed}, []string{v1alpha1.ReasonArchiveFailed}},
		"the archive fails again":   {[]metav1.Condition{failed}, []metav1.Condition{failed}, nil},
		"the archive has recovered": {[]metav1.Condition{failed}, []metav1.Condition{written}, []string{v1alpha1.ReasonArchiveWritten}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range transitions(tc.before, tc.after) {
				got = append(got, e.reason)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
