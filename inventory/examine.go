package inventory

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Owners looks live at the owner that a reference names; a Reader does.
type Owners interface {
	// Now is the moment that a request begins.
	Now() time.Time

	// GetOwner looks at an owner; types that were read before the request began count
	// against no reference.
	GetOwner(ctx context.Context, began time.Time, namespace string, ref metav1.OwnerReference) Owner
}

// How far one change is looked into: references are read a few at a time, and owners of
// owners only as far as it takes to find the usual cycles.
const (
	parallelReads = 8
	ancestors     = 4
)

// OldOwners is how many of the owners that an object had before are looked at. They
// count for what becomes of the object, not for whether a change of it is wrong.
const OldOwners = 100

// Found is what was found of one reference.
type Found struct {
	Owner

	// Cycle are the owners on the way from the object back to itself, if there is one.
	Cycle []Owner
}

// Examine reads the owners of all references of a changed object at once, the old ones
// too, since what becomes of an object depends on all of them. References that are spelled
// alike share a read.
func Examine(ctx context.Context, owners Owners, change Change) []Found {
	return examination{owners: owners, began: owners.Now()}.collect(ctx, change)
}

// examination collects what a verdict on one change rests on.
type examination struct {
	owners Owners
	began  time.Time
}

func (e examination) collect(ctx context.Context, change Change) []Found {
	owners := e.read(ctx, change)
	walk := &walk{examination: e, uid: change.Object.UID, budget: ancestors}
	found := make([]Found, len(owners))
	for i, owner := range owners {
		found[i].Owner = owner
		if !change.Old[i] && !change.Creates && owner.Facts.UID == change.Object.OwnerReferences[i].UID {
			found[i].Cycle = walk.back(ctx, owner)
		}
	}
	return found
}

func (e examination) read(ctx context.Context, change Change) []Owner {
	refs := change.Object.OwnerReferences
	owners := make([]Owner, len(refs))
	first := map[coordinates]int{}
	todo := make(chan int, len(refs))
	old := OldOwners
	for i, ref := range refs {
		at, shared := first[coordinatesOf(ref)]
		switch {
		case shared && (change.Old[i] || !change.Old[at]):
			continue
		case change.Old[i] && old == 0:
			owners[i] = assumed(ref)
		default:
			todo <- i
		}
		if change.Old[i] {
			old = max(0, old-1)
		}
		first[coordinatesOf(ref)] = i
	}
	close(todo)
	var reads sync.WaitGroup
	for range parallelReads {
		reads.Go(func() {
			for i := range todo {
				owners[i] = e.owners.GetOwner(ctx, e.began, change.Object.Namespace, refs[i])
			}
		})
	}
	reads.Wait()
	for i, ref := range refs {
		owners[i] = owners[first[coordinatesOf(ref)]]
	}
	return owners
}

// walk follows owners live, a few in all.
type walk struct {
	examination

	uid    types.UID
	budget int
}

// back returns the owners on the way from this one back to the object; none if it does
// not lead there, or only further than is looked: a longer cycle is the audit's to
// find. A self-reference is judged as one.
func (w *walk) back(ctx context.Context, owner Owner) []Owner {
	if owner.Found == nil || owner.Found.UID == w.uid {
		return nil
	}
	for _, ref := range owner.Found.OwnerReferences {
		if ref.UID == w.uid {
			return []Owner{owner}
		}
		if w.budget == 0 {
			return nil
		}
		w.budget--
		next := w.owners.GetOwner(ctx, w.began, owner.Namespace, ref)
		if next.Facts.UID != ref.UID {
			continue // somebody else of that name
		}
		if rest := w.back(ctx, next); rest != nil {
			return append([]Owner{owner}, rest...)
		}
	}
	return nil
}
