// Package cluster changes and reads a cluster the way kubectl and helm do: any
// object of any kind, by server-side apply.
package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// fieldManager owns the fields that the sandbox applies.
const fieldManager = "teamspace-sandbox"

// Client is access to one cluster.
type Client struct {
	discovery discovery.CachedDiscoveryInterface
	dynamic   dynamic.Interface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
}

// New returns a client. It is not limited in its rate: the sandbox is the
// cluster's only user when it uses one.
func New(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the discovery of the cluster's types: %w", err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the access to the cluster: %w", err)
	}
	cached := memory.NewMemCacheClient(discoverer)
	return &Client{discovery: cached, dynamic: client, mapper: restmapper.NewDeferredDiscoveryRESTMapper(cached)}, nil
}

// Version is the version of the API server, such as v1.37.2.
func (c *Client) Version() (string, error) {
	version, err := c.discovery.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("reading the version of the API server: %w", err)
	}
	return version.GitVersion, nil
}

// APIs lists what the cluster serves, as group/version and as
// group/version/kind: the two forms in which a chart can ask for it.
func (c *Client) APIs() ([]string, error) {
	_, lists, err := c.discovery.ServerGroupsAndResources()
	if err != nil {
		return nil, fmt.Errorf("reading the types of the API server: %w", err)
	}
	var all []string
	for _, list := range lists {
		all = append(all, list.GroupVersion)
		for _, resource := range list.APIResources {
			if !strings.Contains(resource.Name, "/") {
				all = append(all, list.GroupVersion+"/"+resource.Kind)
			}
		}
	}
	return all, nil
}

// Apply applies the objects in their order. Fields that others own are taken
// over: what is applied is what is declared.
func (c *Client) Apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		resource, err := c.resource(object.GroupVersionKind(), object.GetNamespace())
		if err != nil {
			return err
		}
		options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
		if _, err := resource.Apply(ctx, object.GetName(), object, options); err != nil {
			return fmt.Errorf("applying %s %q: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// TryCreate asks the API server to create an object without doing it, and returns what
// would have been created.
func (c *Client) TryCreate(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource, err := c.resource(object.GroupVersionKind(), object.GetNamespace())
	if err != nil {
		return nil, err
	}
	options := metav1.CreateOptions{FieldManager: fieldManager, DryRun: []string{metav1.DryRunAll}}
	return resource.Create(ctx, object, options)
}

// resource returns the access to objects of a kind, in the namespace if they
// are namespaced.
func (c *Client) resource(kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset() // a type that was made just now is there the next time
	}
	if err != nil {
		return nil, fmt.Errorf("finding the resource of %s: %w", kind, err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.dynamic.Resource(mapping.Resource).Namespace(namespace), nil
	}
	return c.dynamic.Resource(mapping.Resource), nil
}

// Namespace is a Namespace to be applied.
func Namespace(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind("Namespace")
	object.SetName(name)
	return object
}

// crds are CustomResourceDefinitions.
var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// ApplyCRDs applies CustomResourceDefinitions and returns when their kinds are
// served.
func (c *Client) ApplyCRDs(ctx context.Context, definitions []*unstructured.Unstructured) error {
	if err := c.Apply(ctx, definitions...); err != nil {
		return err
	}
	for _, definition := range definitions {
		name := definition.GetName()
		err := poll(ctx, func() (bool, error) { return c.established(ctx, name) })
		if err != nil {
			return fmt.Errorf("waiting for the CustomResourceDefinition %q to be served: %w", name, err)
		}
	}
	c.mapper.Reset()
	return nil
}

// established reports whether the API server serves the type.
func (c *Client) established(ctx context.Context, name string) (bool, error) {
	crd, err := c.dynamic.Resource(crds).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	return hasCondition(crd, "Established"), nil
}

// hasCondition reports whether the object's condition of that type is true. One
// whose controller has not seen it yet has conditions that are null.
func hasCondition(object *unstructured.Unstructured, wanted string) bool {
	field, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "conditions")
	conditions, _ := field.([]any)
	for _, item := range conditions {
		if condition, ok := item.(map[string]any); ok && condition["type"] == wanted && condition["status"] == "True" {
			return true
		}
	}
	return false
}

// poll calls done until it reports so, fails, or ctx ends.
func poll(ctx context.Context, done func() (bool, error)) error {
	const interval = 20 * time.Millisecond
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
