package rules

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
)

// Fate is how an object ends.
type Fate uint8

// The fates, to be combined to sets.
const (
	Live  Fate = 1 << iota // it exists and is not being deleted
	Dying                  // it exists with a deletionTimestamp
	Gone                   // it does not exist
)

// String names the fates of the set.
func (f Fate) String() string {
	name := ""
	for i, word := range [...]string{"live", "dying", "gone"} {
		if f&(1<<i) == 0 {
			continue
		}
		if name != "" {
			name += " or "
		}
		name += word
	}
	return name
}

// ReferenceFate is how a reference of an object that still exists ends.
type ReferenceFate uint8

// The fates of a reference, to be combined to sets.
const (
	Kept    ReferenceFate = 1 << iota // as it was
	Freed                             // there, but blockOwnerDeletion is false now
	Dropped                           // not there any more
)

// Outcome is the set of states that the collector may leave an object in: any
// fate of Fates, with any combination of what References and Finalizers list.
type Outcome struct {
	Fates Fate
	// References has one entry for each owner reference, in list order.
	References []ReferenceFate
	// Finalizers lists what a dying object may be left with. A live object
	// keeps its finalizers.
	Finalizers [][]string
	// Because holds the rows that make the outcome non-deterministic, sorted;
	// it is empty for a deterministic one.
	Because []Rule

	object graph.Object
}

// Deterministic reports whether there is a single state.
func (o Outcome) Deterministic() bool { return len(o.Because) == 0 }

// Allows reports whether the state is one of the set. A nil
// blockOwnerDeletion counts as false.
func (o Outcome) Allows(s State) bool {
	switch {
	case !s.Exists:
		return o.Fates&Gone != 0
	case s.Deleting:
		return o.Fates&Dying != 0 && o.allowsAnyOrder(s.Owners) &&
			slices.ContainsFunc(o.Finalizers, func(f []string) bool { return slices.Equal(f, s.Finalizers) })
	default:
		return o.Fates&Live != 0 && o.allowsAnyOrder(s.Owners) && slices.Equal(o.object.Finalizers, s.Finalizers)
	}
}

// allowsAnyOrder knows the one way in which references are reordered: what the collector
// writes to an object of a built-in type is a strategic merge, which puts references with
// one uid beside the first of them (R16).
func (o Outcome) allowsAnyOrder(owners []metav1.OwnerReference) bool {
	return o.allowsOwners(owners) || o.grouped().allowsOwners(owners)
}

// grouped is the outcome with references of one uid side by side.
func (o Outcome) grouped() Outcome {
	first := map[types.UID]int{}
	order := make([]int, len(o.object.Owners))
	for i, ref := range o.object.Owners {
		if _, twin := first[ref.UID]; !twin {
			first[ref.UID] = i
		}
		order[i] = i
	}
	at := func(i int) int { return first[o.object.Owners[i].UID] }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at(a), at(b)) })
	g := o
	g.References, g.object.Owners = nil, nil
	for _, i := range order {
		g.References = append(g.References, o.References[i])
		g.object.Owners = append(g.object.Owners, o.object.Owners[i])
	}
	return g
}

// allowsOwners walks both lists.
func (o Outcome) allowsOwners(owners []metav1.OwnerReference) bool {
	reached := map[int]bool{0: true} // how many of owners the references so far can make
	for i, ref := range o.object.Owners {
		next := map[int]bool{}
		for at := range reached {
			if o.References[i]&Dropped != 0 {
				next[at] = true
			}
			if at < len(owners) && (o.References[i].admits(ref, owners[at]) || o.merged(i, owners[at])) {
				next[at+1] = true
			}
		}
		reached = next
	}
	return reached[len(owners)]
}

// merged reports whether a reference may have become what it is by R09, which
// merges those with one uid into the first of them (R16).
func (o Outcome) merged(i int, is metav1.OwnerReference) bool {
	if o.References[i]&Freed == 0 {
		return false
	}
	return slices.ContainsFunc(o.object.Owners, func(twin metav1.OwnerReference) bool {
		twin.Controller = is.Controller
		return twin.UID == o.object.Owners[i].UID && Freed.admits(twin, is)
	})
}

func (f ReferenceFate) admits(was, is metav1.OwnerReference) bool {
	blocked, blocks := isTrue(was.BlockOwnerDeletion), isTrue(is.BlockOwnerDeletion)
	same := was.UID == is.UID && was.APIVersion == is.APIVersion && was.Kind == is.Kind && was.Name == is.Name &&
		isTrue(was.Controller) == isTrue(is.Controller)
	return same && (f&Kept != 0 && blocked == blocks || f&Freed != 0 && !blocks)
}

func isTrue(v *bool) bool { return v != nil && *v }
