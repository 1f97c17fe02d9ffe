package rules_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// TestFinalizersAfterDelete is rows F1, F10, F11 and F13.
func TestFinalizersAfterDelete(t *testing.T) {
	const (
		fg, orphan, none     = fgFinalizer, orphanFinalizer, ""
		background           = metav1.DeletePropagationBackground
		foreground, orphaned = metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan
	)
	job, event := graph.Type{OrphansByDefault: true}, graph.Type{IgnoresPolicy: true}
	for _, tc := range []struct {
		name   string
		policy metav1.DeletionPropagation
		t      graph.Type
		before string
		want   string
	}{
		{"F1 nothing asked, nothing there: background", none, graph.Type{}, "x", "x"},
		{"F1 nothing asked of a Job: orphan", none, job, "x", "x " + orphan},
		{"F1 nothing asked, orphan there", none, graph.Type{}, orphan + " x", orphan + " x"},
		{"F1 nothing asked of a Job, foreground there", none, job, fg, fg},
		{"F1 asked for background of a Job", background, job, "", ""},
		{"F1 of an Event nothing is kept", foreground, event, "x", "x"},
		{"F10 foreground is put last", foreground, graph.Type{}, "x y", "x y " + fg},
		{"F10 orphan replaces foreground", orphaned, graph.Type{}, fg + " x", "x " + orphan},
		{"F10 the same set keeps its order", foreground, graph.Type{}, fg + " x", fg + " x"},
		{"F11 background takes both off", background, graph.Type{}, fg + " x " + orphan, "x"},
		{"F13 both at once cannot be; foreground stays", foreground, graph.Type{}, fg + " " + orphan, fg},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := rules.FinalizersAfterDelete(tc.policy, tc.t, strings.Fields(tc.before))
			if !slices.Equal(got, strings.Fields(tc.want)) {
				t.Errorf("got %v, want %s", got, tc.want)
			}
		})
	}
}
