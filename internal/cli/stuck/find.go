package stuck

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/teamspace/internal/cli/access"
	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/graph"
)

// scope is what a report speaks of.
type scope struct {
	types     []access.Type // none: all
	namespace string        // "": all of them, and what is in none
	selector  labels.Selector
}

// has reports whether the report speaks of an object. A type that is in no namespace is
// spoken of where it was named, whatever the namespace, as kubectl does.
func (s scope) has(g *graph.Graph, id graph.ID) bool {
	if len(s.types) == 0 {
		return s.namespace == "" || g.Namespace(id) == s.namespace
	}
	apiVersion, kind, _ := g.Kind(id)
	is := schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind()
	named := slices.ContainsFunc(s.types, func(t access.Type) bool { return t.Kind.GroupKind() == is })
	return named && (s.namespace == "" || g.Namespace(id) == "" || g.Namespace(id) == s.namespace)
}

// candidates are the objects of the scope that were being deleted when they were listed.
func (s scope) candidates(g *graph.Graph) []graph.ID {
	var ids []graph.ID
	for id := range graph.ID(g.Len()) {
		if g.Deleting(id) && s.has(g, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// matters reports whether what could not be read leaves the report open: that of which it
// speaks; and everything, as soon as there are blockers to look for.
func (s scope) matters(i inventory.Incomplete, foreground bool) bool {
	if foreground {
		return true
	}
	if i.Elsewhere && s.namespace != "" {
		return false
	}
	return len(s.types) == 0 || slices.ContainsFunc(s.types, func(t access.Type) bool {
		gv := t.Resource.GroupVersion()
		return i.Resource == t.Resource.GroupResource().String() || i.Resource == gv.Version+"."+gv.Group
	})
}

// finder looks live at what a survey has found.
type finder struct {
	cluster *access.Cluster
	survey  *inventory.Survey
	scope   scope
	now     time.Time

	foreground []graph.ID
	failed     []inventory.Incomplete
}

func (f *finder) find(ctx context.Context) *Report {
	items := f.items(ctx)
	blockers := f.blockers(ctx)
	incomplete := f.failed
	for _, i := range f.survey.Incomplete {
		if f.scope.matters(i, len(f.foreground) > 0) {
			incomplete = append(incomplete, i)
		}
	}
	return newReport(items, blockers, incomplete)
}

// items are the candidates that are still being deleted.
func (f *finder) items(ctx context.Context) []Item {
	var items []Item
	for _, look := range f.cluster.Look(ctx, f.survey, f.scope.candidates(f.survey.Graph)) {
		if look.Err != nil {
			f.fail(look.ID, look.Err)
			continue
		}
		if look.Found == nil || !isStuck(f.survey.Graph, look, f.now) || !f.scope.selector.Matches(labels.Set(look.Found.Labels)) {
			continue
		}
		if slices.Contains(look.Found.Finalizers, metav1.FinalizerDeleteDependents) {
			f.foreground = append(f.foreground, look.ID)
		}
		items = append(items, Item{Object: document.ObjectOf(f.survey.Graph, look.ID), Finalizers: f.finalizers(ctx, look)})
	}
	return items
}

// isStuck reports whether an object is being deleted for longer than it was told: a Pod may
// take its grace period.
func isStuck(g *graph.Graph, look access.Look, now time.Time) bool {
	if look.Found.DeletionTimestamp.IsZero() {
		return false
	}
	apiVersion, kind, _ := g.Kind(look.ID)
	return apiVersion != "v1" || kind != "Pod" || now.After(look.Found.DeletionTimestamp.Time)
}

// finalizers are all that an object has. A Namespace has some of its own kind.
func (f *finder) finalizers(ctx context.Context, look access.Look) []string {
	finalizers := list(look.Found.Finalizers)
	if f.survey.Graph.IsNamespace(look.ID) {
		finalizers = append(finalizers, f.specFinalizers(ctx, look.ID)...)
	}
	return finalizers
}

// specFinalizers are in no metadata, so that the Namespace is read whole.
func (f *finder) specFinalizers(ctx context.Context, id graph.ID) []string {
	name := f.survey.Graph.Name(id)
	whole, err := f.cluster.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		f.fail(id, fmt.Errorf("reading Namespace %q: %w", name, err))
		return nil
	}
	finalizers, _, _ := unstructured.NestedStringSlice(whole.Object, "spec", "finalizers") // the API server has no others
	return finalizers
}

// blockers are looked for everywhere, by uid.
func (f *finder) blockers(ctx context.Context) []Blocker {
	g := f.survey.Graph
	var dependents []graph.ID
	owners := map[graph.ID]bool{}
	for _, owner := range f.foreground {
		owners[owner] = true
		for _, number := range g.Dependents(owner) {
			if e := g.Edge(int(number)); e.Blocking {
				dependents = append(dependents, e.Dependent)
			}
		}
	}
	slices.Sort(dependents)
	var blockers []Blocker
	for _, look := range f.cluster.Look(ctx, f.survey, slices.Compact(dependents)) {
		if look.Err != nil {
			f.fail(look.ID, look.Err)
			continue
		}
		if look.Found == nil {
			continue
		}
		if found := blockersIn(g, look, owners); len(found) > 0 {
			blockers = append(blockers, found...)
			f.hold(ctx, look, blockers[len(blockers)-len(found):])
		}
	}
	return blockers
}

// hold tells what holds the blockers, which are the references of one object.
func (f *finder) hold(ctx context.Context, look access.Look, blockers []Blocker) {
	finalizers := f.finalizers(ctx, look)
	for i := range blockers {
		blockers[i].Finalizers = finalizers
	}
}

// blockersIn are the references of one object that block one of the owners now.
func blockersIn(g *graph.Graph, look access.Look, owners map[graph.ID]bool) []Blocker {
	var blockers []Blocker
	for i, ref := range look.Found.OwnerReferences {
		owner, ok := g.Find(ref.UID)
		if !ok || !owners[owner] || ref.BlockOwnerDeletion == nil || !*ref.BlockOwnerDeletion {
			continue
		}
		blockers = append(blockers, Blocker{
			Object: document.ObjectOf(g, look.ID), Owner: document.ObjectOf(g, owner),
			Reference: Reference{Index: i},
		})
	}
	return blockers
}

func (f *finder) fail(id graph.ID, err error) {
	_, _, mapping := f.survey.Graph.Kind(id)
	resource, _ := f.survey.Resource(mapping.Type)
	f.failed = append(f.failed, inventory.Incomplete{Resource: resource.GroupResource().String(), Reason: err.Error()})
}
