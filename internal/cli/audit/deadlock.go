package audit

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/teamspace/internal/cli/finding"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// deadlock confirms that a foreground deletion waits for a reference that will never go.
func (c *confirmer) deadlock(ctx context.Context, p *rules.Prediction, number int) []fixable {
	g := p.Graph()
	ref := g.Reference(number)
	owner, ok := c.anyOf(ctx, g, ref.Owner)
	if !ok || owner.DeletionTimestamp.IsZero() || !slices.Contains(owner.Finalizers, metav1.FinalizerDeleteDependents) {
		return nil
	}
	blocker, ok := c.read(ctx, ref.Dependent)
	if !ok {
		return nil
	}
	index := slices.IndexFunc(blocker.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.UID == ref.UID && r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
	})
	if index < 0 {
		return nil
	}
	for _, r := range blocker.OwnerReferences {
		blocker.references = append(blocker.references, c.reference(ctx, blocker.Namespace, r, ref.Dependent))
	}
	rule := p.Deadlock(number)
	f := fixable{object: blocker, Finding: finding.Finding{
		Rule: rule, Severity: explain.Error, Object: finding.ObjectOf(blocker.subject().Target), Reference: blocker.reference(index),
		Verdict: blocker.subject().Decision().Action.String(),
		Message: explain.Blocker(p, number) + unseen(blocker.resource), Fix: explain.WayOut(p, number),
	}}
	// What cannot be judged may be right one day; the others never are.
	if rule != rules.F7 && blocker.DeletionTimestamp.IsZero() {
		f.edit = edit{index: index}
		f.Patch = blocker.patch(f.edit)
	}
	return []fixable{f}
}

// anyOf reads an object of the survey again, whether or not it is selected.
func (c *confirmer) anyOf(ctx context.Context, g *graph.Graph, id graph.ID) (live, bool) {
	_, _, mapping := g.Kind(id)
	o, ok := c.get(ctx, mapping.Type, g.Namespace(id), g.Name(id))
	return o, ok && o.UID == g.UID(id)
}

// lost confirms that an object exists in a namespace that does not.
func (c *confirmer) lost(ctx context.Context, id graph.ID) []fixable {
	namespace := c.survey.Graph.Namespace(id)
	_, err := c.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Get(ctx, namespace, metav1.GetOptions{})
	switch {
	case err == nil:
		return nil // made after the namespaces were listed
	case !apierrors.IsNotFound(err):
		c.gap(schema.GroupResource{Resource: "namespaces"}, fmt.Errorf("reading namespace %q again: %w", namespace, err))
		return nil
	}
	o, ok := c.read(ctx, id)
	if !ok {
		return nil
	}
	return []fixable{{object: o, Finding: finding.Finding{
		Rule: ruleLost, Severity: explain.Error, Object: finding.ObjectOf(o.subject().Target), Verdict: rules.Keep.String(),
		Message: fmt.Sprintf("namespace %s does not exist, and this %s was left in it; it will be there again when a namespace of this name is made", namespace, o.Kind),
		Fix: fmt.Sprintf("make the namespace again, look at what is in it, and delete it in the ordinary way: kubectl create namespace %s && kubectl delete namespace %s",
			namespace, namespace),
	}}}
}
