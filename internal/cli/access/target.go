package access

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/restmapper"
)

// Type is a type that somebody named, in a version that is served.
type Type struct {
	Resource   schema.GroupVersionResource
	Kind       schema.GroupVersionKind
	Namespaced bool
}

// Target is an object that somebody named; whether it exists is not said.
type Target struct {
	Type

	Namespace string
	Name      string
}

// String names the object as people do.
func (t Target) String() string {
	if t.Namespace == "" {
		return fmt.Sprintf("%s %s", t.Kind.Kind, t.Name)
	}
	return fmt.Sprintf("%s %s/%s", t.Kind.Kind, t.Namespace, t.Name)
}

// ErrNoTarget is the error of a subcommand that needs to be told an object.
var ErrNoTarget = errors.New("name an object: TYPE/NAME, or TYPE NAME")

// Targets returns the objects that the arguments name, in every spelling that kubectl
// takes: TYPE NAME..., TYPE/NAME..., with short names, TYPE.GROUP and TYPE.VERSION.GROUP.
func (c *Cluster) Targets(args []string) ([]Target, error) {
	if len(args) == 0 || len(args) == 1 && !strings.Contains(args[0], "/") {
		return nil, ErrNoTarget
	}
	// Only what kubectl makes of the words is wanted, not the objects: what is explained
	// may be gone.
	infos, err := resource.NewBuilder(c.getter).Unstructured().RequireObject(false).
		NamespaceParam(c.Namespace).DefaultNamespace().
		ResourceTypeOrNameArgs(false, args...).Do().Infos()
	if err != nil {
		return nil, err
	}
	targets := make([]Target, len(infos))
	for i, info := range infos {
		targets[i] = Target{Type: typeOf(info.Mapping), Namespace: info.Namespace, Name: info.Name}
	}
	return targets, nil
}

// Target returns the one object that the arguments name.
func (c *Cluster) Target(args []string) (Target, error) {
	targets, err := c.Targets(args)
	if err != nil {
		return Target{}, err
	}
	if len(targets) != 1 {
		return Target{}, fmt.Errorf("want one object, not %d", len(targets))
	}
	return targets[0], nil
}

// Types returns the types that the arguments name, also as a list with commas, or as a
// category such as all.
func (c *Cluster) Types(args []string) ([]Type, error) {
	var types []Type
	for _, word := range c.words(args) {
		found, err := c.getType(word)
		if err != nil {
			return nil, err
		}
		types = append(types, found)
	}
	return types, nil
}

// words are the types that were meant, each by itself.
func (c *Cluster) words(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	categories := restmapper.NewDiscoveryCategoryExpander(c.getter.discovery)
	var words []string
	for word := range strings.SplitSeq(strings.Join(args, ","), ",") {
		members, ok := categories.Expand(word)
		if !ok {
			words = append(words, word)
		}
		for _, member := range members {
			words = append(words, member.String())
		}
	}
	return words
}

// getType lets kubectl's own parser read one type, by asking for an object of it that is
// then not read.
func (c *Cluster) getType(word string) (Type, error) {
	if word == "" || strings.Contains(word, "/") {
		return Type{}, fmt.Errorf("%q is not a type: want a resource such as pods, deploy or sites.own.labhub.io", word)
	}
	infos, err := resource.NewBuilder(c.getter).Unstructured().RequireObject(false).
		NamespaceParam("any").ResourceNames(word, "any").Do().Infos()
	if err != nil {
		return Type{}, err
	}
	if len(infos) != 1 {
		return Type{}, fmt.Errorf("%q names %d types", word, len(infos))
	}
	return typeOf(infos[0].Mapping), nil
}

func typeOf(mapping *meta.RESTMapping) Type {
	return Type{
		Resource:   mapping.Resource,
		Kind:       mapping.GroupVersionKind,
		Namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace,
	}
}
