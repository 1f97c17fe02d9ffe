package terminating

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestObstacleOf(t *testing.T) {
	condition := func(conditionType corev1.NamespaceConditionType, status corev1.ConditionStatus, message string) corev1.NamespaceCondition {
		return corev1.NamespaceCondition{Type: conditionType, Status: status, Message: message}
	}
	for name, tc := range map[string]struct {
		finalizers []string
		conditions []corev1.NamespaceCondition
		action     string
		want       []string // in this order
	}{
		"nothing is said":              {action: actionController, want: []string{"kube-controller-manager"}},
		"its own finalizers (N2)":      {finalizers: []string{"a.example/x", "b.example/y"}, action: actionFinalizers, want: []string{"a.example/x, b.example/y"}},
		"a condition that is not True": {conditions: []corev1.NamespaceCondition{condition(corev1.NamespaceContentRemaining, corev1.ConditionFalse, "all gone")}, action: actionController, want: []string{"pods"}},
		"content, finalizers first": {
			conditions: []corev1.NamespaceCondition{
				condition(corev1.NamespaceContentRemaining, corev1.ConditionTrue, "configmaps. has 1 resource instances"),
				condition(corev1.NamespaceFinalizersRemaining, corev1.ConditionTrue, "c.example/z in 1 resource instances"),
			},
			action: actionContent, want: []string{"c.example/z in 1", "; ", "configmaps. has 1"},
		},
		"both": {
			finalizers: []string{"a.example/x"},
			conditions: []corev1.NamespaceCondition{condition(corev1.NamespaceDeletionDiscoveryFailure, corev1.ConditionTrue, "discovery failed")},
			action:     actionFinalizers, want: []string{"a.example/x", "; ", "discovery failed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ns := &corev1.Namespace{}
			ns.Finalizers, ns.Status.Conditions = tc.finalizers, tc.conditions
			got := obstacleOf(ns)
			if got.action != tc.action {
				t.Errorf("action %s, want %s", got.action, tc.action)
			}
			rest := got.message
			for _, want := range tc.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("message %q, want %q in this order", got.message, tc.want)
				}
				rest = after
			}
		})
	}
}

// An event with a longer note would be refused, and nobody would be told.
func TestObstacleOf_fitsIntoAnEvent(t *testing.T) {
	ns := &corev1.Namespace{}
	for range 100 {
		ns.Finalizers = append(ns.Finalizers, "wörter.example/long-finalizer")
	}
	if got := len(obstacleOf(ns).message); got > 1000 || got < messageLimit-10 {
		t.Errorf("the message has %d bytes, want nearly %d", got, messageLimit)
	}
}
