package check

import (
	"fmt"
	"io"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"labhub.io/teamspace/ownership/graph"
)

// manifest is an object in a file.
type manifest struct {
	metav1.PartialObjectMetadata

	source string
}

// read reads manifests as kubectl does, without a cluster, and the types that they define
// themselves.
func read(in io.Reader, files resource.FilenameOptions) ([]manifest, []graph.Type, error) {
	builder := resource.NewBuilder(genericclioptions.NewTestConfigFlags()).Local().Unstructured()
	if i := slices.Index(files.Filenames, "-"); i >= 0 {
		files.Filenames = slices.Delete(slices.Clone(files.Filenames), i, i+1)
		builder = builder.Stream(in, "stdin")
	}
	infos, err := builder.FilenameParam(false, &files).Flatten().ContinueOnError().Do().Infos()
	if err != nil {
		return nil, nil, fmt.Errorf("reading the manifests: %w", err)
	}
	var manifests []manifest
	var types []graph.Type
	for _, info := range infos {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(info.Object)
		if err != nil {
			return nil, nil, fmt.Errorf("reading %s: %w", info.Source, err)
		}
		m := manifest{source: info.Source}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &m.PartialObjectMetadata); err != nil {
			return nil, nil, fmt.Errorf("reading the metadata of %q in %s: %w", info.Name, info.Source, err)
		}
		manifests = append(manifests, m)
		types = append(types, definedBy(object)...)
	}
	return manifests, types, nil
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
