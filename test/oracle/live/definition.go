package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

var definitions = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

const (
	establishTimeout = time.Minute
	pollInterval     = 50 * time.Millisecond
)

// Definition is a custom type. The first version is the one that is stored.
type Definition struct {
	Group, Kind string
	Namespaced  bool
	Versions    []Version
}

// Version is one version of a custom type.
type Version struct {
	Name     string
	Unserved bool
}

// Plural is the name of the resource.
func (d Definition) Plural() string { return strings.ToLower(d.Kind) + "s" }

func (d Definition) name() string { return d.Plural() + "." + d.Group }

// Definitions returns the custom types of the samples.
func Definitions() []Definition {
	return []Definition{
		{Group: "acme.example", Kind: "Widget", Namespaced: true, Versions: []Version{{Name: "v1"}, {Name: "v1beta1"}}},
		{Group: "acme.example", Kind: "Gadget", Namespaced: true, Versions: []Version{{Name: "v1"}}},
		{Group: "acme.example", Kind: "ClusterWidget", Versions: []Version{{Name: "v1"}}},
	}
}

func (d Definition) object() *unstructured.Unstructured {
	scope := "Cluster"
	if d.Namespaced {
		scope = "Namespaced"
	}
	var versions []any
	for i, v := range d.Versions {
		versions = append(versions, map[string]any{
			"name": v.Name, "served": !v.Unserved, "storage": i == 0,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "x-kubernetes-preserve-unknown-fields": true,
			}},
		})
	}
	lower := strings.ToLower(d.Kind)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": d.name()},
		"spec": map[string]any{
			"group": d.Group, "scope": scope, "versions": versions,
			"names": map[string]any{"kind": d.Kind, "listKind": d.Kind + "List", "plural": d.Plural(), "singular": lower},
		},
	}}
}

// Define makes the custom type, or changes it to what it is now, and returns once each
// version is served as it should be.
func (c *Cluster) Define(ctx context.Context, d Definition) error {
	options := metav1.ApplyOptions{FieldManager: "oracle", Force: true}
	if _, err := c.client.Resource(definitions).Apply(ctx, d.name(), d.object(), options); err != nil {
		return fmt.Errorf("defining %s: %w", d.Kind, err)
	}
	for _, v := range d.Versions {
		resource := schema.GroupVersionResource{Group: d.Group, Version: v.Name, Resource: d.Plural()}
		if err := c.awaitServed(ctx, resource, !v.Unserved); err != nil {
			return err
		}
	}
	for _, v := range d.Versions {
		gv := schema.GroupVersion{Group: d.Group, Version: v.Name}
		if !v.Unserved {
			c.Register(gv.String(), d.Kind, Kind{Resource: gv.WithResource(d.Plural()), Namespaced: d.Namespaced})
			break // objects are read in one version
		}
	}
	return nil
}

// Undefine removes the custom type with its objects, and returns once it is not served
// any more.
func (c *Cluster) Undefine(ctx context.Context, d Definition) error {
	if err := c.client.Resource(definitions).Delete(ctx, d.name(), metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("removing the definition of %s: %w", d.Kind, err)
	}
	for _, v := range d.Versions {
		resource := schema.GroupVersionResource{Group: d.Group, Version: v.Name, Resource: d.Plural()}
		if err := c.awaitServed(ctx, resource, false); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) awaitServed(ctx context.Context, resource schema.GroupVersionResource, wanted bool) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, establishTimeout, true, func(ctx context.Context) (bool, error) {
		_, last = c.client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		return (last == nil) == wanted, nil
	})
	if err != nil {
		return errors.Join(fmt.Errorf("waiting for %s to be served=%t: %w", resource, wanted, err), last)
	}
	return nil
}
