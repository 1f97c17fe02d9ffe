package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"labhub.io/teamspace/ownership/graph"
)

// parallelLists is how many types are listed at once: enough to keep the API server busy,
// and few enough that its priority levels do not notice.
const parallelLists = 4

// Surveyor reads whole clusters. It may be used by several goroutines at once.
type Surveyor struct {
	catalog *Catalog
	client  rest.Interface
}

// NewSurveyor returns a surveyor. Its requests are not limited by the client: the API
// server's own priority and fairness is what keeps it from harm.
func NewSurveyor(catalog *Catalog, config *rest.Config) (*Surveyor, error) {
	config = metadata.ConfigFor(config)
	config.QPS = -1
	config.WarningHandlerWithContext = rest.NoWarnings{} // nobody chose the versions that are deprecated
	config.GroupVersion = nil
	config.APIPath = "/"
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("setting up the lists of a survey: %w", err)
	}
	return &Surveyor{catalog: catalog, client: client}, nil
}

// Options choose what a survey reads.
type Options struct {
	// Namespace is what the caller asks about; empty is the whole cluster. Other namespaces
	// and cluster-scoped objects are read all the same, since owners and dependents may be
	// anywhere, but where that is not permitted the namespace alone will do.
	Namespace string

	// Events reads events, too. The collector never looks at them, and they may be many.
	Events bool
}

// Incomplete is something that could not be read.
type Incomplete struct {
	// Resource is a resource with its group, "widgets.acme.example"; of a group whose server
	// does not answer it is the APIService, "v1beta1.metrics.k8s.io", since what it serves is
	// not known.
	Resource string `json:"resource"`

	// Reason says what happened.
	Reason string `json:"reason"`

	// Elsewhere says that all of it that Options.Namespace holds was read.
	Elsewhere bool `json:"-"`
}

// Compare orders gaps by their resources.
func (i Incomplete) Compare(other Incomplete) int {
	return cmp.Or(cmp.Compare(i.Resource, other.Resource), cmp.Compare(i.Reason, other.Reason))
}

// Survey is a cluster as it was found.
type Survey struct {
	Snapshot

	// Graph holds the objects. The types of objects that could not be read are marked as
	// unreadable in it, so that their owners are unknown and not absent.
	Graph *graph.Graph

	// Incomplete is what could not be read, sorted. A type that vanished while the survey
	// ran is not in it.
	Incomplete []Incomplete
}

// Survey reads the metadata of all objects that can be listed. It fails only if not even
// the types can be read; what else fails is in Survey.Incomplete.
func (s *Surveyor) Survey(ctx context.Context, options Options) (*Survey, error) {
	snapshot, err := s.catalog.Snapshot(ctx, s.catalog.clock.Now())
	if err != nil {
		return nil, err
	}
	r := &reading{
		client: s.client, options: options, builder: graph.NewBuilder(snapshot.Types),
		complete: map[schema.GroupKind]bool{},
	}
	r.readAll(ctx, snapshot.listings)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("reading the cluster: %w", err)
	}
	if len(r.missing) > 0 {
		// Listed a moment ago and now unknown: what is served now decides.
		if snapshot, err = s.catalog.Snapshot(ctx, s.catalog.clock.Now()); err != nil {
			return nil, err
		}
	}
	return r.finish(snapshot), nil
}

// reading is a survey under way.
type reading struct {
	client  rest.Interface
	options Options

	mu      sync.Mutex
	builder *graph.Builder
	failed  []Incomplete
	missing []listing // answered 404
	// complete are the kinds of which every object was read that matters.
	complete map[schema.GroupKind]bool
}

func (r *reading) readAll(ctx context.Context, listings []listing) {
	todo := make(chan listing, len(listings))
	for _, l := range listings {
		if !l.isEvent() || r.options.Events {
			todo <- l
		}
	}
	close(todo)
	var workers sync.WaitGroup
	for range parallelLists {
		workers.Go(func() {
			for l := range todo {
				r.note(l, r.read(ctx, l))
			}
		})
	}
	workers.Wait()
}

// elsewhereError is the error of a list beyond the namespace that was asked for.
type elsewhereError struct{ error }

func (e elsewhereError) Unwrap() error { return e.error }

// read lists a resource in the whole cluster, or where that is forbidden in the namespace.
func (r *reading) read(ctx context.Context, l listing) error {
	lists := lister{client: r.client, add: r.add}
	err := lists.list(ctx, l, "")
	if r.options.Namespace == "" || !apierrors.IsForbidden(err) {
		return err
	}
	if l.namespaced {
		if inside := lists.list(ctx, l, r.options.Namespace); inside != nil {
			return inside
		}
	}
	return elsewhereError{err}
}

func (r *reading) add(o graph.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// What has no uid, such as a ComponentStatus, is made up for the list and owns nothing.
	_ = r.builder.Add(o)
}

func (r *reading) note(l listing, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, elsewhere := errors.AsType[elsewhereError](err)
	if err == nil || elsewhere && l.namespaced {
		r.complete[l.groupKind()] = true
	}
	switch {
	case err == nil:
	case apierrors.IsNotFound(err):
		r.missing = append(r.missing, l)
	default:
		r.failed = append(r.failed, Incomplete{Resource: l.String(), Reason: err.Error(), Elsewhere: elsewhere})
	}
}

// finish builds the graph with what is known of the types at the end.
func (r *reading) finish(snapshot Snapshot) *Survey {
	incomplete := r.failed
	for _, l := range r.missing {
		if slices.Contains(snapshot.listings, l) {
			incomplete = append(incomplete, Incomplete{Resource: l.String(), Reason: "it is served, yet the server does not find its list"})
		}
	}
	for apiVersion, err := range snapshot.silent {
		incomplete = append(incomplete, silentServer(apiVersion, err))
	}
	slices.SortFunc(incomplete, Incomplete.Compare)
	snapshot.Types = r.markUnread(snapshot.Types)
	r.builder.Retype(snapshot.Types)
	return &Survey{Snapshot: snapshot, Graph: r.builder.Graph(), Incomplete: incomplete}
}

// silentServer names the APIService of a group version, for all that it may serve.
func silentServer(apiVersion string, err error) Incomplete {
	gv, parseErr := schema.ParseGroupVersion(apiVersion)
	if parseErr != nil {
		gv = schema.GroupVersion{Version: apiVersion}
	}
	return Incomplete{Resource: gv.Version + "." + gv.Group, Reason: "the server of this APIService does not answer: " + err.Error()}
}

// markUnread marks the types of which objects may be missing from the graph: those that
// could not be read, were left out, or cannot be listed at all. Whatever version a
// reference names, the objects are the same.
func (r *reading) markUnread(known *graph.Types) *graph.Types {
	types := known.All()
	for i, t := range types {
		types[i].Unreadable = !r.complete[t.GroupKind()]
	}
	return graph.NewTypes(types...)
}
