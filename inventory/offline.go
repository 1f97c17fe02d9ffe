package inventory

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// Offline stands for a Reader where no cluster can be asked: it knows types, and of no
// owner whether it exists.
type Offline struct{ Types *graph.Types }

// Now implements Owners: nothing is ever read, at no time.
func (Offline) Now() time.Time { return time.Time{} }

// GetOwner implements Owners. Of a kind that is not built in nobody knows here whether it
// is served, let alone its scope.
func (o Offline) GetOwner(_ context.Context, _ time.Time, namespace string, ref metav1.OwnerReference) Owner {
	owner, _ := withoutReading(o.Types, namespace, ref)
	if !owner.Facts.Mapping.Resolves() && !rules.BuiltInGroup(ref.APIVersion) && !rules.ImpossibleKind(ref.Kind) {
		return unknown(nil)
	}
	owner.Suggest = stable(o.Types.Suggest(ref.Kind))
	return owner
}

// stable leaves out the versions that a cluster may have ceased to serve, or does not serve
// yet, if there are others.
func stable(types []graph.Type) []graph.Type {
	var found []graph.Type
	for _, t := range types {
		if !strings.Contains(t.APIVersion, "alpha") && !strings.Contains(t.APIVersion, "beta") {
			found = append(found, t)
		}
	}
	if len(found) == 0 {
		return types
	}
	return found
}
