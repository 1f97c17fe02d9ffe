package explain

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"labhub.io/teamspace/internal/cli/access"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// parallelReads is how many objects are read at once.
const parallelReads = 8

// gatherer reads the facts. What it may not read is noted as incomplete, and the rest is
// explained all the same.
type gatherer struct {
	cluster *access.Cluster
	failed  []inventory.Incomplete
}

// newFacts starts with a survey.
func newFacts(s *inventory.Survey) *facts {
	return &facts{
		graph: s.Graph, present: rules.Predict(s.Graph), incomplete: s.Incomplete,
		resource: func(id graph.ID) schema.GroupVersionResource {
			_, _, mapping := s.Graph.Kind(id)
			resource, _ := s.Resource(mapping.Type)
			return resource
		},
		now: time.Now(), details: map[graph.ID]detail{}, namespaces: map[string]map[string]string{},
	}
}

// details reads objects live and whole.
func (g *gatherer) details(ctx context.Context, f *facts, ids []graph.ID) {
	found := make([]detail, len(ids))
	failed := make([]error, len(ids))
	workqueue.ParallelizeUntil(ctx, parallelReads, len(ids), func(i int) {
		found[i], failed[i] = g.detail(ctx, f, ids[i])
	})
	for i, id := range ids {
		if failed[i] != nil {
			g.fail(f.resource(id).GroupResource().String(), failed[i])
			continue
		}
		f.details[id] = found[i]
	}
}

func (g *gatherer) detail(ctx context.Context, f *facts, id graph.ID) (detail, error) {
	whole, err := g.cluster.Dynamic.Resource(f.resource(id)).Namespace(f.graph.Namespace(id)).Get(ctx, f.graph.Name(id), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return detail{gone: true}, nil
	case err != nil:
		return detail{}, err
	case whole.GetUID() != f.graph.UID(id):
		return detail{gone: true}, nil
	default:
		return detailOf(whole), nil
	}
}

// detailOf picks from an object what an explanation can use.
func detailOf(o *unstructured.Unstructured) detail {
	d := detail{labels: o.GetLabels(), managers: managersOf(o.GetManagedFields()), conditions: conditionsOf(o)}
	if deleted := o.GetDeletionTimestamp(); deleted != nil {
		d.deleted = deleted.Time
	}
	if grace := o.GetDeletionGracePeriodSeconds(); grace != nil {
		d.grace = time.Duration(*grace) * time.Second
	}
	if o.GetAPIVersion() == "v1" {
		d.node, _, _ = unstructured.NestedString(o.Object, "spec", "nodeName")
		namespace, _, _ := unstructured.NestedString(o.Object, "spec", "claimRef", "namespace")
		name, _, _ := unstructured.NestedString(o.Object, "spec", "claimRef", "name")
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		if name != "" && phase == "Bound" {
			d.claim = namespace + "/" + name
		}
	}
	return d
}

// conditionsOf reads status.conditions, which look alike in every type.
func conditionsOf(o *unstructured.Unstructured) []condition {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	var conditions []condition
	for _, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		text := func(name string) string { value, _, _ := unstructured.NestedString(fields, name); return value }
		conditions = append(conditions, condition{text("type"), text("status"), text("reason"), text("message")})
	}
	return conditions
}

// managersOf says which field managers have set each finalizer (C53).
func managersOf(entries []metav1.ManagedFieldsEntry) map[string][]string {
	managers := map[string][]string{}
	for _, entry := range entries {
		if entry.FieldsV1 == nil {
			continue
		}
		for _, finalizer := range finalizersIn(entry.FieldsV1) {
			if !slices.Contains(managers[finalizer], entry.Manager) {
				managers[finalizer] = append(managers[finalizer], entry.Manager)
			}
		}
	}
	for _, list := range managers {
		slices.Sort(list)
	}
	return managers
}

// fail notes what could not be read.
func (g *gatherer) fail(resource string, err error) {
	g.failed = append(g.failed, inventory.Incomplete{Resource: resource, Reason: err.Error()})
}

// incomplete is what neither the survey nor the gatherer could read, sorted.
func (g *gatherer) incomplete(f *facts) []inventory.Incomplete {
	all := append(append([]inventory.Incomplete{}, f.incomplete...), g.failed...)
	slices.SortFunc(all, inventory.Incomplete.Compare)
	return slices.Compact(all)
}

// decode turns an object of the dynamic client into its Go type.
func decode(o *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into)
}
