package check

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/teamspace/ownership/graph"
)

// manifest is an object in a file.
type manifest struct {
	metav1.PartialObjectMetadata

	source string
}

// definedBy are the types that an object brings, if it is a definition.
func definedBy(object map[string]any) []graph.Type {
	o := unstructured.Unstructured{Object: object}
	if o.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
		return nil
	}
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(object, fields...)
		return value
	}
	versions, _, _ := unstructured.NestedSlice(object, "spec", "versions")
	var types []graph.Type
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if served, _ := version["served"].(bool); !served {
			continue
		}
		name, _ := version["name"].(string)
		types = append(types, graph.Type{
			APIVersion: schema.GroupVersion{Group: text("spec", "group"), Version: name}.String(), Kind: text("spec", "names", "kind"),
			Namespaced: text("spec", "scope") == "Namespaced", Serving: graph.Served,
		})
	}
	return types
}

// place puts an object where it would be made: into the namespace unless it names one, or
// into none if that is the scope of its kind. Of a kind that nobody knows its own word
// counts.
func (m *manifest) place(types *graph.Types, namespace string) {
	mapping := types.Resolve(m.APIVersion, m.Kind)
	switch {
	case mapping.Resolves() && !mapping.Type.Namespaced:
		m.Namespace = ""
	case m.Namespace == "":
		m.Namespace = namespace
	}
}
