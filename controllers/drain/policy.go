package drain

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"labhub.io/teamspace/api/v1alpha1"
)

// Policy says what becomes of the TeamSpaces that are there.
type Policy string

// The policies.
const (
	// Fail refuses to go on if there are any. One that comes after the question is
	// treated as by Orphan.
	Fail Policy = "Fail"

	// Orphan leaves them and their namespaces where they are, without our finalizer and
	// without an owner, to be adopted again by a later installation.
	Orphan Policy = "Orphan"

	// Delete archives and deletes them. The garbage collector takes their namespaces.
	Delete Policy = "Delete"
)

// ParsePolicy reads a policy.
func ParsePolicy(text string) (Policy, error) {
	if p := Policy(text); slices.Contains([]Policy{Fail, Orphan, Delete}, p) {
		return p, nil
	}
	return "", fmt.Errorf("unknown policy %q: want Fail, Orphan or Delete", text)
}

// RefusedError says that there are TeamSpaces and that the policy is Fail.
type RefusedError struct {
	// TeamSpaces are their names.
	TeamSpaces []string
}

// namesTold is how many of them the message names.
const namesTold = 5

// Error implements error.
func (e *RefusedError) Error() string {
	names := strings.Join(e.TeamSpaces[:min(namesTold, len(e.TeamSpaces))], ", ")
	if more := len(e.TeamSpaces) - namesTold; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("refused, and nothing was changed: there are TeamSpaces (%s) and the policy is Fail; "+
		"delete them first, or choose Orphan (they stay and so do their namespaces, to be adopted by a later installation) "+
		"or Delete (they are archived and go, with their namespaces and all that is in them)", names)
}

// action is what is done with a TeamSpace.
type action int

const (
	// leave: it is being deleted, and held by others only.
	leave action = iota

	// letGo: it is being deleted; archive it and take our finalizer off.
	letGo

	// free: it stays; its namespace loses the reference, and it loses our finalizer,
	// whichever of the two is there.
	free

	// remove: delete it, which makes it one to let go.
	remove
)

// decide says what is done with a TeamSpace, as it was read just now. Where its type goes,
// its own deletion is not what anybody asked for: teams keep their namespaces whatever
// the policy.
func decide(policy Policy, typeGoes bool, ts *v1alpha1.TeamSpace) action {
	switch {
	case ts.DeletionTimestamp.IsZero() && policy == Delete && !typeGoes:
		return remove
	case ts.DeletionTimestamp.IsZero():
		return free
	case controllerutil.ContainsFinalizer(ts, v1alpha1.Finalizer):
		return letGo
	default:
		return leave
	}
}
