package rules

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/graph"
)

// EffectivePolicy is row F1: the policy that a DELETE really gets. An explicit
// one wins; then a finalizer that is already there, the first in the list; then
// the type's default. The empty policy is a DELETE without options.
func EffectivePolicy(asked metav1.DeletionPropagation, t graph.Type, finalizers []string) metav1.DeletionPropagation {
	if t.IgnoresPolicy {
		return metav1.DeletePropagationBackground
	}
	if asked != "" {
		return asked
	}
	for _, f := range finalizers {
		switch f {
		case metav1.FinalizerOrphanDependents:
			return metav1.DeletePropagationOrphan
		case metav1.FinalizerDeleteDependents:
			return metav1.DeletePropagationForeground
		}
	}
	if t.OrphansByDefault {
		return metav1.DeletePropagationOrphan
	}
	return metav1.DeletePropagationBackground
}

// FinalizersAfterDelete returns the finalizers of an object once a DELETE was
// accepted (F10, F11): the collector's two are taken off and the one of the
// policy is put at the end, unless the set stays the same, which then keeps its
// order. An object without any finalizers after that is gone at once.
func FinalizersAfterDelete(asked metav1.DeletionPropagation, t graph.Type, finalizers []string) []string {
	var after []string
	had := map[string]bool{}
	for _, f := range finalizers {
		if collectors(f) {
			had[f] = true
			continue
		}
		after = append(after, f)
	}
	own := ""
	switch EffectivePolicy(asked, t, finalizers) {
	case metav1.DeletePropagationForeground:
		own = metav1.FinalizerDeleteDependents
	case metav1.DeletePropagationOrphan:
		own = metav1.FinalizerOrphanDependents
	}
	if own == "" {
		return after
	}
	if len(had) == 1 && had[own] {
		return finalizers
	}
	return append(after, own)
}

// collectors reports whether the collector serves the finalizer.
func collectors(finalizer string) bool {
	return finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents
}

// without returns the list without one finalizer.
func without(finalizers []string, gone string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == gone })
}
