package audit

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

const (
	// parallelReads is how many findings are confirmed at once.
	parallelReads = 8
	// settles is how long after a change of an object the collector has dealt with it, if
	// anything made it look.
	settles = 30 * time.Second
)

// confirmer looks live at what the survey found, since things change while it runs. What
// several findings name is read once for all of them. It may be used by several goroutines
// at once.
type confirmer struct {
	survey   *inventory.Survey
	rings    rings
	owners   inventory.Owners
	began    time.Time
	objects  metadata.Interface
	selector labels.Selector

	mu     sync.Mutex
	known  map[coordinates]func() inventory.Owner
	barred map[barrier]error
	gaps   []inventory.Incomplete
}

type coordinates struct{ namespace, apiVersion, kind, name string }

// barrier is where a user may not read.
type barrier struct{ namespace, apiVersion, kind string }

func newConfirmer(survey *inventory.Survey, r rings, owners inventory.Owners, objects metadata.Interface, selector labels.Selector) *confirmer {
	return &confirmer{
		survey: survey, rings: r, owners: owners, began: owners.Now(), objects: objects, selector: selector,
		known: map[coordinates]func() inventory.Owner{}, barred: map[barrier]error{},
	}
}

// each calls a function for every item, several at once.
func each[T any](items []T, do func(T)) {
	todo := make(chan T, len(items))
	for _, item := range items {
		todo <- item
	}
	close(todo)
	var workers sync.WaitGroup
	for range parallelReads {
		workers.Go(func() {
			for item := range todo {
				do(item)
			}
		})
	}
	workers.Wait()
}

// read reads an object of the survey again; not if it has gone, or is not selected.
func (c *confirmer) read(ctx context.Context, id graph.ID) (live, bool) {
	g := c.survey.Graph
	_, _, mapping := g.Kind(id)
	o, ok := c.get(ctx, mapping.Type, g.Namespace(id), g.Name(id))
	if !ok || o.UID != g.UID(id) || !c.selector.Matches(labels.Set(o.Labels)) {
		return live{}, false
	}
	o.unmonitored = mapping.Type.Unmonitored
	o.settled = time.Since(lastChange(&o.PartialObjectMetadata)) > settles
	return o, true
}

// get reads one object of a type; an error other than that it is not there is a gap.
func (c *confirmer) get(ctx context.Context, t graph.Type, namespace, name string) (live, bool) {
	resource, ok := c.survey.Resource(t)
	if !ok {
		return live{}, false // not served any more, and gone with its type
	}
	var from metadata.ResourceInterface = c.objects.Resource(resource)
	if namespace != "" {
		from = c.objects.Resource(resource).Namespace(namespace)
	}
	o, err := from.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		if !apierrors.IsNotFound(err) {
			c.gap(resource.GroupResource(), fmt.Errorf("reading %s again: %w", document.Object{Kind: t.Kind, Namespace: namespace, Name: name}, err))
		}
		return live{}, false
	}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(t.APIVersion, t.Kind))
	return live{PartialObjectMetadata: *o, resource: resource}, true
}

func (c *confirmer) gap(resource schema.GroupResource, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gaps = append(c.gaps, inventory.Incomplete{Resource: resource.String(), Reason: err.Error()})
}

// lastChange is when an object was changed last, as far as it tells.
func lastChange(o *metav1.PartialObjectMetadata) time.Time {
	last := o.CreationTimestamp.Time
	for i := range o.ManagedFields {
		if at := o.ManagedFields[i].Time; at != nil && at.After(last) {
			last = at.Time
		}
	}
	return last
}

// judge reads the owners of an object, and returns what is wrong with its references.
func (c *confirmer) judge(ctx context.Context, id graph.ID) []fixable {
	o, ok := c.read(ctx, id)
	if !ok {
		return nil
	}
	for _, ref := range o.OwnerReferences {
		o.references = append(o.references, c.reference(ctx, o.Namespace, ref, id))
	}
	return o.findings()
}

// reference looks at the owner of one reference. The object of the survey is the dependent.
func (c *confirmer) reference(ctx context.Context, namespace string, ref metav1.OwnerReference, dependent graph.ID) explain.Reference {
	owner := c.owner(ctx, namespace, ref)
	judged := owner.Reference(namespace, ref)
	judged.Reveal = true
	if judged.Class == rules.Unknown {
		c.unknownOwner(owner, ref)
	}
	if judged.Class == rules.Absent || judged.Class == rules.Unresolvable {
		judged.Elsewhere = c.elsewhere(ctx, ref, owner)
	}
	if id, ok := c.survey.Graph.Find(ref.UID); ok && id != dependent && judged.Class == rules.Solid {
		judged.Cycle = c.rings.closes(graph.Edge{Dependent: dependent, Owner: id}) && c.turns(owner, c.rings[id])
	}
	return judged
}

// turns reports whether an owner, as it is now, still goes on to the cycle.
func (c *confirmer) turns(owner inventory.Owner, ring int) bool {
	for _, ref := range owner.Found.OwnerReferences {
		if next, ok := c.survey.Graph.Find(ref.UID); ok && c.rings[next] == ring {
			return true
		}
	}
	return false
}

// unknownOwner is a gap of its own: whether the reference is right is not known.
func (c *confirmer) unknownOwner(owner inventory.Owner, ref metav1.OwnerReference) {
	err := owner.Err
	if err == nil {
		err = fmt.Errorf("%s %q could not be read", ref.Kind, ref.Name)
	}
	resource := owner.Resource.GroupResource()
	if resource.Empty() { // not even the types could be read
		resource = schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupVersion().WithResource(strings.ToLower(ref.Kind)).GroupResource()
	}
	c.gap(resource, fmt.Errorf("reading owners: %w", err))
}

// owner reads an owner, once for all references that name it.
func (c *confirmer) owner(ctx context.Context, namespace string, ref metav1.OwnerReference) inventory.Owner {
	at := coordinates{namespace, ref.APIVersion, ref.Kind, ref.Name}
	c.mu.Lock()
	look, ok := c.known[at]
	if !ok {
		look = sync.OnceValue(func() inventory.Owner { return c.getOwner(ctx, namespace, ref) })
		c.known[at] = look
	}
	c.mu.Unlock()
	return look()
}

// getOwner reads an owner. Where the user may not read one, no other of that type is asked
// for.
func (c *confirmer) getOwner(ctx context.Context, namespace string, ref metav1.OwnerReference) inventory.Owner {
	wall := barrier{namespace, ref.APIVersion, ref.Kind}
	c.mu.Lock()
	err := c.barred[wall]
	c.mu.Unlock()
	if err != nil {
		mapping := c.survey.Types.Resolve(ref.APIVersion, ref.Kind)
		resource, _ := c.survey.Resource(mapping.Type) // where it was barred it is known
		return inventory.Owner{Err: err, Resource: resource, Facts: rules.Facts{Mapping: mapping, Answer: rules.Failed}}
	}
	owner := c.owners.GetOwner(ctx, c.began, namespace, ref)
	if apierrors.IsForbidden(owner.Err) {
		c.mu.Lock()
		c.barred[wall] = owner.Err
		c.mu.Unlock()
	}
	return owner
}

// elsewhere is the object that has the uid of a reference which does not lead to it.
func (c *confirmer) elsewhere(ctx context.Context, ref metav1.OwnerReference, owner inventory.Owner) *explain.Target {
	g := c.survey.Graph
	id, ok := g.Find(ref.UID)
	if !ok || g.Virtual(id) || owner.Found != nil && owner.Found.UID == ref.UID {
		return nil
	}
	apiVersion, kind, mapping := g.Kind(id)
	there := c.owner(ctx, g.Namespace(id), metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: g.Name(id)})
	if there.Found == nil || there.Found.UID != ref.UID {
		return nil
	}
	return &explain.Target{APIVersion: mapping.Type.APIVersion, Kind: mapping.Type.Kind, Namespace: g.Namespace(id), Name: g.Name(id), UID: ref.UID}
}
