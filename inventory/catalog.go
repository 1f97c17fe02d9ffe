package inventory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"

	"labhub.io/teamspace/ownership/graph"
)

// mapperReset is how long the collector may go on using a mapping that discovery
// does not confirm any more (D1).
const mapperReset = 30 * time.Second

// Catalog knows the types that the API server serves, and for half a minute and
// longer those that it has ceased to serve. It asks when it has to, not
// periodically. It may be used by several goroutines at once.
type Catalog struct {
	discovery discovery.DiscoveryInterfaceWithContext
	clock     clock.PassiveClock

	mu       sync.Mutex
	read     time.Time // when the snapshot was begun; zero: never
	snapshot Snapshot
	vanished map[typeKey]time.Time
}

// Snapshot is what one discovery told.
type Snapshot struct {
	// Types are what package ownership asks for.
	Types *graph.Types

	resources map[typeKey]schema.GroupVersionResource

	// listings are what a survey reads: each resource once, in one version.
	listings []listing

	// silent are the group versions whose server did not answer, and why: what they serve
	// is not known, which is no reason to call anything wrong (P12).
	silent map[string]error
}

type typeKey struct{ apiVersion, kind string }

// NewCatalog returns a catalog that has not asked yet.
func NewCatalog(client discovery.DiscoveryInterfaceWithContext) *Catalog {
	return &Catalog{discovery: client, clock: clock.RealClock{}, vanished: map[typeKey]time.Time{}}
}

// Snapshot returns types as they were served at the given time or later; the zero
// time accepts whatever is known. Callers that need the same wait for one another.
// An error leaves what was known before.
func (c *Catalog) Snapshot(ctx context.Context, notBefore time.Time) (Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.read.IsZero() && !c.read.Before(notBefore) {
		return c.snapshot, nil
	}
	begun := c.clock.Now()
	served, silent, err := c.getServed(ctx)
	if err != nil {
		return c.snapshot, fmt.Errorf("reading the types that the API server serves: %w", err)
	}
	c.note(served, silent)
	c.snapshot = Snapshot{
		Types: graph.NewTypes(c.types(served)...), resources: resourcesOf(served),
		listings: listingsOf(served), silent: silent,
	}
	c.read = begun
	return c.snapshot, nil
}

// Resource returns the resource of a type that resolved, such as the Deployment of
// apps/v1.
func (s Snapshot) Resource(t graph.Type) (schema.GroupVersionResource, bool) {
	resource, ok := s.resources[typeKey{t.APIVersion, t.Kind}]
	return resource, ok
}

// suggest returns the served types that have the kind of a reference; none if what the
// reference names may be served by a server that does not answer.
func (s Snapshot) suggest(ref metav1.OwnerReference) []graph.Type {
	if s.silent[ref.APIVersion] != nil {
		return nil
	}
	return s.Types.Suggest(ref.Kind)
}

type servedType struct {
	typeKey
	namespaced bool
	resource   schema.GroupVersionResource
	verbs      []string
	// preferred says that this is the version in which the collector observes the resource,
	// and a survey lists it.
	preferred bool
}

// getServed lists the types, and the group versions whose discovery failed: their kinds
// do not resolve for the collector either.
func (c *Catalog) getServed(ctx context.Context) (all []servedType, silent map[string]error, err error) {
	groups, lists, err := c.discovery.ServerGroupsAndResourcesWithContext(ctx)
	silent = map[string]error{}
	if failed, ok := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err); ok {
		for gv, err := range failed.Groups {
			silent[gv.String()] = err
		}
	} else if err != nil {
		return nil, nil, err
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // an aggregated server may name its groups as it likes
		}
		for i := range list.APIResources {
			if t, ok := typeOf(gv, &list.APIResources[i]); ok {
				all = append(all, t)
			}
		}
	}
	prefer(all, groups)
	return all, silent, nil
}

func typeOf(gv schema.GroupVersion, r *metav1.APIResource) (servedType, bool) {
	if strings.Contains(r.Name, "/") {
		return servedType{}, false // a subresource has no objects of its own
	}
	return servedType{
		typeKey:    typeKey{gv.String(), r.Kind},
		namespaced: r.Namespaced,
		resource:   gv.WithResource(r.Name),
		verbs:      r.Verbs,
	}, true
}

// note remembers when a type was first missed, and forgets those that are back. What a
// silent server serves is not missed.
func (c *Catalog) note(served []servedType, silent map[string]error) {
	present := make(map[typeKey]bool, len(served))
	for _, t := range served {
		present[t.typeKey] = true
		delete(c.vanished, t.typeKey)
	}
	for key := range c.snapshot.resources {
		if !present[key] && silent[key.apiVersion] == nil {
			c.vanished[key] = c.clock.Now()
		}
	}
}

func (c *Catalog) types(served []servedType) []graph.Type {
	types := make([]graph.Type, 0, len(served)+len(c.vanished))
	for key, since := range c.vanished {
		serving := graph.VanishedEarlier
		if c.clock.Since(since) < mapperReset {
			serving = graph.VanishedRecently
		}
		types = append(types, graph.Type{APIVersion: key.apiVersion, Kind: key.kind, Serving: serving})
	}
	verbs := preferredVerbs(served)
	for _, t := range served {
		types = append(types, t.graphType(verbs))
	}
	return types
}

func resourcesOf(served []servedType) map[typeKey]schema.GroupVersionResource {
	resources := make(map[typeKey]schema.GroupVersionResource, len(served))
	for _, t := range served {
		resources[t.typeKey] = t.resource
	}
	return resources
}
