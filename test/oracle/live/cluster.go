package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"labhub.io/teamspace/ownership/graph"
)

// Cluster makes and reads objects. It may be used by several goroutines.
type Cluster struct {
	client dynamic.Interface
	mu     sync.RWMutex
	kinds  map[typeName]Kind
}

// New returns a cluster that knows the types of the samples.
func New(config *rest.Config) (*Cluster, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the control plane: %w", err)
	}
	return &Cluster{client: client, kinds: kinds()}, nil
}

// Register makes one more type known.
func (c *Cluster) Register(apiVersion, kind string, k Kind) {
	if k.Body == nil {
		k.Body = empty
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kinds[typeName{apiVersion, kind}] = k
}

// kind returns the type of an object.
func (c *Cluster) kind(o graph.Object) (Kind, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	k, ok := c.kinds[typeName{o.APIVersion, o.Kind}]
	return k, ok
}

// resources lists the resources of the known types.
func (c *Cluster) resources() []schema.GroupVersionResource {
	c.mu.RLock()
	defer c.mu.RUnlock()
	set := map[schema.GroupVersionResource]bool{}
	for _, k := range c.kinds {
		set[k.Resource] = true
	}
	list := slices.Collect(maps.Keys(set))
	slices.SortFunc(list, func(a, b schema.GroupVersionResource) int { return strings.Compare(a.String(), b.String()) })
	return list
}

// Objects are the objects of a cluster by their real uid.
type Objects map[types.UID]*unstructured.Unstructured

// List reads all objects of the known types from the API server.
func (c *Cluster) List(ctx context.Context) (Objects, error) {
	all := Objects{}
	for _, resource := range c.resources() {
		list, err := c.client.Resource(resource).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue // a type that is not served at this moment has no objects
		}
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", resource.Resource, err)
		}
		for i := range list.Items {
			all[list.Items[i].GetUID()] = &list.Items[i]
		}
	}
	return all, nil
}
