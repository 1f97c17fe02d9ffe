package check

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"labhub.io/teamspace/internal/cli/finding"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// judge says what would become of a request with each manifest.
type judge struct {
	owners inventory.Owners
	types  *graph.Types
	// online reads what is there now; nil without a cluster.
	online *online
	gaps   []inventory.Incomplete
	// unseen counts, by the resource of the owner, the references that could not be looked
	// at for want of a cluster.
	unseen map[string]int
}

// online is a cluster.
type online struct {
	snapshot inventory.Snapshot
	objects  metadata.Interface
	// lists are those that were read already; nil if one could not be.
	lists map[place]*metav1.PartialObjectMetadataList
}

// judge judges one manifest as the API server and then the guard would.
func (j *judge) judge(ctx context.Context, m manifest) []finding.Finding {
	if found := refused(m); len(found) > 0 {
		return found
	}
	found := m.dropTwins()
	before, exists := j.before(ctx, m)
	if !before.DeletionTimestamp.IsZero() {
		return found // every update of what is being deleted passes (P08)
	}
	m.UID = before.UID
	change := inventory.NewChange(m.PartialObjectMetadata, before, !exists)
	if !change.Changed() {
		return found
	}
	told, subject := j.problems(ctx, change)
	meant := j.meant(ctx, subject)
	for i, p := range told {
		if p.Rule == rules.K5 && j.online == nil {
			j.notAsked(change.Object.OwnerReferences[p.Index])
			continue
		}
		f := m.judged(p)
		if meant != nil && meant[i].Fix != p.Fix {
			// The guard, which reads no lists, does not know; its words end where it guesses.
			f.Rule, f.Fix = meant[i].Rule, meant[i].Fix
			f.Message = strings.TrimSuffix(f.Message, "; "+p.Fix)
		}
		found = append(found, f)
	}
	return found
}

// problems are those that the guard would tell of, to somebody who may read all that there
// is to say.
func (j *judge) problems(ctx context.Context, change inventory.Change) ([]explain.Problem, explain.Subject) {
	if n := change.NewOwners(); n > inventory.MaxOwners {
		return []explain.Problem{explain.TooMany(n, inventory.MaxOwners)}, explain.Subject{}
	}
	owners := inventory.Examine(ctx, j.owners, change)
	subject := change.Subject(owners)
	for i := range subject.References {
		subject.References[i].Reveal = true
		if err := owners[i].Err; err != nil {
			j.gap(owners[i].Resource.GroupResource().String(), fmt.Errorf("reading owners: %w", err))
		}
	}
	return explain.Problems(subject), subject
}

// before is the object as it is in the cluster, if it is there.
func (j *judge) before(ctx context.Context, m manifest) (before metav1.PartialObjectMetadata, exists bool) {
	if j.online == nil || m.Name == "" {
		return before, false
	}
	resource, ok := j.online.snapshot.Resource(j.types.Resolve(m.APIVersion, m.Kind).Type)
	if !ok {
		return before, false
	}
	var from metadata.ResourceInterface = j.online.objects.Resource(resource)
	if m.Namespace != "" {
		from = j.online.objects.Resource(resource).Namespace(m.Namespace)
	}
	found, err := from.Get(ctx, m.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		return *found, true
	case !apierrors.IsNotFound(err):
		j.gap(resource.GroupResource().String(), fmt.Errorf("reading what is there: %w", err))
	}
	return before, false
}

func (j *judge) gap(resource string, err error) {
	j.gaps = append(j.gaps, inventory.Incomplete{Resource: resource, Reason: err.Error()})
}

// judged is a problem in the guard's own words.
func (m *manifest) judged(p explain.Problem) finding.Finding {
	verdict, severity := "warn", p.Severity
	if p.Deny {
		verdict, severity = "deny", explain.Error
	}
	f := m.finding(p.Rule, severity, verdict, p.Message(), p.Fix)
	if p.Index >= 0 {
		f.Reference = &finding.Reference{Index: p.Index, OwnerReference: m.OwnerReferences[p.Index], Class: p.Class}
	}
	return f
}
