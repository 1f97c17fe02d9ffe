package ownerreferences

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// Owners looks live at the owner that a reference names.
type Owners interface {
	// Now is the moment that a request begins.
	Now() time.Time

	// GetOwner looks at an owner; types that were read before the request began count
	// against no reference.
	GetOwner(ctx context.Context, began time.Time, namespace string, ref metav1.OwnerReference) inventory.Owner
}

// How far the guard looks for one request: references are read a few at a time, and
// owners of owners only as far as it takes to find the usual cycles.
const (
	parallelReads = 8
	ancestors     = 4
)

// MaxOwners is how many different owners a request may add or change. More could not be
// looked at in time, and what is not looked at passes.
const MaxOwners = 200

// oldOwners is how many of the owners that an object had before are looked at. They
// count for what becomes of the object, not for whether it is denied.
const oldOwners = 100

// facts collects what a verdict rests on.
type facts struct {
	owners Owners
	began  time.Time
}

// fact is what was found of one reference.
type fact struct {
	inventory.Owner

	// cycle are the owners on the way from the object back to itself, if there is one.
	cycle []inventory.Owner
}

type coordinates struct{ apiVersion, kind, name string }

func coordinatesOf(ref metav1.OwnerReference) coordinates {
	return coordinates{ref.APIVersion, ref.Kind, ref.Name}
}

// newOwners counts the owners that new or changed references name.
func newOwners(req request) int {
	named := map[coordinates]bool{}
	for i, ref := range req.object.OwnerReferences {
		if !req.old[i] {
			named[coordinatesOf(ref)] = true
		}
	}
	return len(named)
}

// assumed is an owner that is not looked at: as if it were there.
func assumed(ref metav1.OwnerReference) inventory.Owner {
	served := graph.Mapping{Type: graph.Type{APIVersion: ref.APIVersion, Kind: ref.Kind, Serving: graph.Served}}
	return inventory.Owner{Facts: rules.Facts{Mapping: served, Answer: rules.Found, UID: ref.UID}}
}

// collect reads the owners of all references at once, the old ones too, since what
// becomes of an object depends on all of them. References that are spelled alike share a
// read.
func (f facts) collect(ctx context.Context, req request) []fact {
	owners := f.read(ctx, req)
	walk := &walk{facts: f, uid: req.object.UID, budget: ancestors}
	found := make([]fact, len(owners))
	for i, owner := range owners {
		found[i].Owner = owner
		if !req.old[i] && !req.creates && owner.Facts.UID == req.object.OwnerReferences[i].UID {
			found[i].cycle = walk.back(ctx, owner)
		}
	}
	return found
}

func (f facts) read(ctx context.Context, req request) []inventory.Owner {
	refs := req.object.OwnerReferences
	owners := make([]inventory.Owner, len(refs))
	first := map[coordinates]int{}
	todo := make(chan int, len(refs))
	old := oldOwners
	for i, ref := range refs {
		at, shared := first[coordinatesOf(ref)]
		switch {
		case shared && (req.old[i] || !req.old[at]):
			continue
		case req.old[i] && old == 0:
			owners[i] = assumed(ref)
		default:
			todo <- i
		}
		if req.old[i] {
			old = max(0, old-1)
		}
		first[coordinatesOf(ref)] = i
	}
	close(todo)
	var reads sync.WaitGroup
	for range parallelReads {
		reads.Go(func() {
			for i := range todo {
				owners[i] = f.owners.GetOwner(ctx, f.began, req.object.Namespace, refs[i])
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
	facts  facts
	uid    types.UID
	budget int
}

// back returns the owners on the way from this one back to the object; none if it does
// not lead there, or only further than the guard looks: a longer cycle is the audit's to
// find. A self-reference is judged as one.
func (w *walk) back(ctx context.Context, owner inventory.Owner) []inventory.Owner {
	if owner.Found == nil || owner.Found.UID == w.uid {
		return nil
	}
	for _, ref := range owner.Found.OwnerReferences {
		if ref.UID == w.uid {
			return []inventory.Owner{owner}
		}
		if w.budget == 0 {
			return nil
		}
		w.budget--
		next := w.facts.owners.GetOwner(ctx, w.facts.began, owner.Namespace, ref)
		if next.Facts.UID != ref.UID {
			continue // somebody else of that name
		}
		if rest := w.back(ctx, next); rest != nil {
			return append([]inventory.Owner{owner}, rest...)
		}
	}
	return nil
}

// subjectOf puts the facts together for a verdict.
func subjectOf(req request, found []fact) explain.Subject {
	subject := explain.Subject{Latent: req.latent, Target: explain.Target{
		APIVersion: req.object.APIVersion, Kind: req.object.Kind,
		Namespace: req.object.Namespace, Name: req.object.Name, UID: req.object.UID,
	}}
	for i, ref := range req.object.OwnerReferences {
		subject.References = append(subject.References, explain.Reference{
			OwnerReference: ref,
			Classification: rules.Classify(req.object.Namespace, ref, found[i].Facts),
			Mapping:        found[i].Facts.Mapping,
			Old:            req.old[i],
			Found:          other(ref, found[i].Owner),
			Suggest:        found[i].Suggest,
			Cycle:          len(found[i].cycle) > 0,
		})
	}
	return subject
}

// other is the object under the owner's name, if it is not the owner itself.
func other(ref metav1.OwnerReference, owner inventory.Owner) *explain.Target {
	if owner.Found == nil || owner.Found.UID == ref.UID {
		return nil
	}
	return &explain.Target{
		APIVersion: ref.APIVersion, Kind: owner.Facts.Mapping.Type.Kind,
		Namespace: owner.Found.Namespace, Name: owner.Found.Name, UID: owner.Found.UID,
	}
}
