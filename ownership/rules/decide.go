package rules

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Action is what the collector does to an object that it looks at.
type Action uint8

// The actions. All but Delete, Prune and FinishForeground leave the object as
// it is.
const (
	Keep Action = iota
	Delete
	Prune
	SkipTerminating
	FinishForeground
	NeverCollected
	Retry
	Unmanaged
)

// String names the action.
func (a Action) String() string {
	return [...]string{
		"keep", "delete", "prune", "skip (terminating)", "finish foreground deletion",
		"never collected", "retry", "unmanaged",
	}[a]
}

// Judged is a classified reference.
type Judged struct {
	UID types.UID
	Classification
}

// Subject is one object with what Decide needs to know of it.
type Subject struct {
	// Unmonitored: the collector does not observe the object's type.
	Unmonitored bool
	// Deleting: the collector knows that the object is being deleted.
	Deleting bool
	// IgnoresPolicy: a DELETE takes the collector's finalizers off, whatever its
	// policy (Event).
	IgnoresPolicy bool
	Finalizers    []string
	// References are in list order.
	References []Judged
	// Dependents counts the objects that have a reference with the object's
	// uid, Blocking those whose reference has blockOwnerDeletion=true, and
	// WaitingDependents those that wait for dependents of their own.
	Dependents        int
	Blocking          int
	WaitingDependents int
}

// Decision is what the collector does to one object when it looks at it. When
// that is, if ever, only Predict can say.
type Decision struct {
	Action Action
	// Rule is the row that fired.
	Rule Rule
	// Policy is that of a Delete (R12).
	Policy metav1.DeletionPropagation
	// Prune lists the uids that a Prune drops. Every entry with one of these
	// uids goes, a right one too (R16).
	Prune []types.UID
	// Unblock: before the Delete every reference of the object is set to
	// blockOwnerDeletion=false, to break a cycle (R09).
	Unblock bool
	// Release: a FinishForeground takes foregroundDeletion off, since nothing
	// blocks any more (F3). Otherwise the object goes on waiting.
	Release bool
	// Because says what was counted, in the collector's words.
	Because string
}

// Decide applies rows R01 to R12 to one object.
func Decide(s Subject) Decision {
	t := tallyOf(s.References)
	fg := slices.Contains(s.Finalizers, metav1.FinalizerDeleteDependents)
	orphan := slices.Contains(s.Finalizers, metav1.FinalizerOrphanDependents)
	action, rule := decide(t, s.Unmonitored, s.Deleting, fg, s.Dependents > 0)
	if action == Delete && s.refuses() {
		action, rule = Retry, R12
	}
	d := Decision{Action: action, Rule: rule, Because: t.String()}
	switch action {
	case Prune:
		for _, r := range s.References {
			if r.Class != Solid && !slices.Contains(d.Prune, r.UID) {
				d.Prune = append(d.Prune, r.UID)
			}
		}
	case Delete:
		d.Policy = deletePolicy(rule, fg, orphan)
		d.Unblock = rule == R09 && s.WaitingDependents > 0
	case FinishForeground:
		d.Release = s.Blocking == 0
		d.Because = fmt.Sprintf("%d blockingDependents", s.Blocking)
	}
	return d
}

// refuses is refusesCollector of a Subject.
func (s Subject) refuses() bool {
	f := finalizerFlags(s.Finalizers)
	if s.IgnoresPolicy {
		f |= ignoresPolicy
	}
	return refusesCollector(f)
}

// tally counts classes up to the first error.
type tally struct {
	references, solid, absent, waiting int
	failed                             Class
}

func tallyOf(refs []Judged) tally {
	var t tally
	for _, r := range refs {
		t.count(r.Class)
	}
	return t
}

func (t *tally) count(c Class) {
	t.references++
	switch {
	case t.failed != 0:
	case errorClasses.Has(c):
		t.failed = c
	case c == Solid:
		t.solid++
	case c == Absent:
		t.absent++
	case c == Waiting:
		t.waiting++
	}
}

// String counts in the collector's words.
func (t tally) String() string {
	if t.references == 0 {
		return "no owner"
	}
	if t.failed != 0 {
		return "a reference is " + t.failed.String()
	}
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{t.solid, "solid"}, {t.absent, "absent owner"}, {t.waiting, "waitingForDependentsDeletion"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	return strings.Join(parts, ", ")
}

// decide is the table of rows R01 to R11.
func decide(t tally, unmonitored, deleting, foreground, dependents bool) (Action, Rule) {
	switch {
	case unmonitored:
		return Unmanaged, R02
	case deleting && foreground:
		return FinishForeground, R04
	case deleting:
		return SkipTerminating, R03
	default:
		return decideLive(t, dependents)
	}
}

func decideLive(t tally, dependents bool) (Action, Rule) {
	switch {
	case t.references == 0:
		return Keep, R01
	case t.failed == BadScope:
		return NeverCollected, R05
	case t.failed != 0:
		return Retry, R06
	case t.solid > 0 && t.absent+t.waiting == 0:
		return Keep, R07
	case t.solid > 0:
		return Prune, R08
	case t.waiting > 0 && dependents:
		return Delete, R09
	case t.waiting > 0:
		return Delete, R10
	default:
		return Delete, R11
	}
}

// deletePolicy is row R12, and R09 where the policy is always foreground.
func deletePolicy(rule Rule, foreground, orphan bool) metav1.DeletionPropagation {
	switch {
	case rule == R09:
		return metav1.DeletePropagationForeground
	case orphan:
		return metav1.DeletePropagationOrphan
	case foreground:
		return metav1.DeletePropagationForeground
	default:
		return metav1.DeletePropagationBackground
	}
}
