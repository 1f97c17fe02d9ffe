package terminating

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Actions of the events. They differ by what is waited for: the recorder takes events of
// one reason and action for the same thing happening again, and keeps the first note.
const (
	actionFinalizers = "AwaitFinalizers"
	actionContent    = "AwaitContent"
	actionController = "AwaitNamespaceController"
)

// obstacle is what keeps a namespace from going.
type obstacle struct {
	action, message string
}

// remaining are the conditions in which the namespace controller says what is left, in
// the order in which a person wants to know.
var remaining = []corev1.NamespaceConditionType{
	corev1.NamespaceFinalizersRemaining,
	corev1.NamespaceContentRemaining,
	corev1.NamespaceDeletionContentFailure,
	corev1.NamespaceDeletionDiscoveryFailure,
	corev1.NamespaceDeletionGVParsingFailure,
}

// obstacleOf names the finalizers of the namespace itself, which are in no condition
// (N2), and what the namespace controller says of its content. Pods that do not end are
// in no condition either (N1).
func obstacleOf(ns *corev1.Namespace) obstacle {
	var parts []string
	action := actionContent
	if len(ns.Finalizers) > 0 {
		action = actionFinalizers
		parts = append(parts, fmt.Sprintf("the namespace itself has the finalizers %s, which nobody but those who set them may remove", strings.Join(ns.Finalizers, ", ")))
	}
	for _, conditionType := range remaining {
		i := slices.IndexFunc(ns.Status.Conditions, func(c corev1.NamespaceCondition) bool {
			return c.Type == conditionType && c.Status == corev1.ConditionTrue
		})
		if i >= 0 {
			parts = append(parts, ns.Status.Conditions[i].Message)
		}
	}
	if len(parts) == 0 {
		return obstacle{actionController, "the namespace controller of kube-controller-manager does not say what is left; it may not be running, or pods have not ended"}
	}
	return obstacle{action, shortened(strings.Join(parts, "; "))}
}

// messageLimit leaves room in an event's note, of which the API server takes 1024 bytes.
const messageLimit = 900

func shortened(message string) string {
	if len(message) <= messageLimit {
		return message
	}
	return strings.ToValidUTF8(message[:messageLimit], "") + "…"
}
