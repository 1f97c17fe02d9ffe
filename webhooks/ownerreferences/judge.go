package ownerreferences

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/rules"
)

// Owners looks live at the owner that a reference names.
type Owners interface {
	Owner(ctx context.Context, namespace string, ref metav1.OwnerReference) inventory.Owner
}

// How far the guard looks for one request: references are read a few at a time, and
// owners of owners only as far as it takes to find the usual cycles.
const (
	parallelReads = 8
	ancestors     = 4
)

// judge collects the facts of a request.
type judge struct{ owners Owners }

// subject reads the owners of all references at once, the old ones too, since what
// becomes of an object depends on all of them. References that are spelled alike
// share a read.
func (j judge) subject(ctx context.Context, req request) (explain.Subject, []inventory.Owner) {
	owners := j.read(ctx, req)
	subject := explain.Subject{Latent: req.latent, Target: explain.Target{
		APIVersion: req.object.APIVersion, Kind: req.object.Kind,
		Namespace: req.object.Namespace, Name: req.object.Name, UID: req.object.UID,
	}}
	walk := &walk{owners: j.owners, budget: ancestors}
	for i, ref := range req.object.OwnerReferences {
		owner := owners[i]
		subject.References = append(subject.References, explain.Reference{
			OwnerReference: ref,
			Classification: rules.Classify(req.object.Namespace, ref, owner.Facts),
			Mapping:        owner.Facts.Mapping,
			Old:            req.old[i],
			Found:          found(ref, owner),
			Suggest:        owner.Suggest,
			Cycle:          !req.old[i] && walk.leadsTo(ctx, owner, req.object.UID),
		})
	}
	return subject, owners
}

type coordinates struct{ apiVersion, kind, name string }

func (j judge) read(ctx context.Context, req request) []inventory.Owner {
	refs := req.object.OwnerReferences
	first := map[coordinates]int{}
	owners := make([]inventory.Owner, len(refs))
	slots := make(chan struct{}, parallelReads)
	var reads sync.WaitGroup
	for i, ref := range refs {
		at := coordinates{ref.APIVersion, ref.Kind, ref.Name}
		if _, shared := first[at]; shared {
			continue
		}
		first[at] = i
		reads.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			owners[i] = j.owners.Owner(ctx, req.object.Namespace, ref)
		})
	}
	reads.Wait()
	for i, ref := range refs {
		owners[i] = owners[first[coordinates{ref.APIVersion, ref.Kind, ref.Name}]]
	}
	return owners
}

// found is the object under the owner's name, if it is not the owner itself.
func found(ref metav1.OwnerReference, owner inventory.Owner) *explain.Target {
	if owner.Found == nil || owner.Found.UID == ref.UID {
		return nil
	}
	return &explain.Target{
		APIVersion: ref.APIVersion, Kind: owner.Facts.Mapping.Type.Kind,
		Namespace: owner.Found.Namespace, Name: owner.Found.Name, UID: owner.Found.UID,
	}
}

// walk follows owners live, a few in all.
type walk struct {
	owners Owners
	budget int
}

// leadsTo says whether the owner, or an owner of it, is owned by the uid. It gives up
// when the budget is used: a longer cycle is the audit's to find.
func (w *walk) leadsTo(ctx context.Context, owner inventory.Owner, uid types.UID) bool {
	if uid == "" || owner.Found == nil || owner.Found.UID == uid {
		return false // what is being created owns nothing; a self-reference is judged as one
	}
	for _, ref := range owner.Found.OwnerReferences {
		if ref.UID == uid {
			return true
		}
		if w.budget == 0 {
			return false
		}
		w.budget--
		if w.leadsTo(ctx, w.owners.Owner(ctx, owner.Namespace, ref), uid) {
			return true
		}
	}
	return false
}
