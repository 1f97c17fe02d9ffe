package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/graph"
)

const stdin = "stdin"

// reading is what was read: manifests, the types that they define themselves, and the files
// that could not be read, or not to their end.
type reading struct {
	manifests []manifest
	types     []graph.Type
	gaps      []inventory.Incomplete
}

// read reads manifests as kubectl does, without a cluster. Each file is read by itself, so
// that one that cannot be read hides no other.
func read(in io.Reader, files resource.FilenameOptions) (r reading) {
	for _, name := range files.Filenames {
		for _, source := range sourcesOf(name, files.Recursive) {
			if errs := r.readSource(in, source); len(errs) > 0 {
				r.gaps = append(r.gaps, inventory.Incomplete{Resource: source, Reason: reasonOf(source, errs)})
			}
		}
	}
	return r
}

// sourcesOf are the files of a folder, by kubectl's own rules; anything else is a source by
// itself.
func sourcesOf(name string, recursive bool) []string {
	if name == "-" {
		return []string{stdin}
	}
	visitors, err := resource.ExpandPathsToFileVisitors(nil, name, recursive, resource.FileExtensions, nil)
	var paths []string
	for _, visitor := range visitors {
		if file, ok := visitor.(*resource.FileVisitor); ok {
			paths = append(paths, file.Path)
		}
	}
	if err != nil || len(paths) == 0 {
		return []string{name} // a URL, a pattern, or none: kubectl's reader knows what to say
	}
	return paths
}

// reasonOf tells of several errors of one source in one line, which names the source already.
func reasonOf(source string, errs []error) string {
	var reasons []string
	for _, err := range errs {
		reason := strings.TrimPrefix(err.Error(), "error parsing "+source+": ")
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	return strings.Join(reasons, "; ")
}

func (r *reading) readSource(in io.Reader, source string) (errs []error) {
	builder := resource.NewBuilder(genericclioptions.NewTestConfigFlags()).Local().Unstructured()
	var content bytes.Buffer
	if source == stdin {
		builder = builder.Stream(io.TeeReader(in, &content), source)
	} else {
		builder = builder.FilenameParam(false, &resource.FilenameOptions{Filenames: []string{source}})
	}
	infos, err := builder.Flatten().ContinueOnError().Do().Infos()
	for _, info := range infos {
		if err := r.add(info); err != nil {
			errs = append(errs, err)
		}
	}
	if err == nil {
		return errs
	}
	if source != stdin {
		if text, err := os.ReadFile(source); err == nil { //nolint:gosec // that is what the user asks for
			content.Write(text)
		}
	}
	return append(errs, named(content.Bytes(), err)...)
}

func (r *reading) add(info *resource.Info) error {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(info.Object)
	if err != nil {
		return fmt.Errorf("reading %q: %w", info.Name, err)
	}
	m := manifest{source: info.Source}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &m.PartialObjectMetadata); err != nil {
		return fmt.Errorf("reading the metadata of %q: %w", info.Name, err)
	}
	r.manifests = append(r.manifests, m)
	r.types = append(r.types, definedBy(object)...)
	return nil
}

// named returns the errors of a source with the names of the objects that they are about:
// the reader says only that something in the file could not be decoded.
func named(content []byte, err error) []error {
	errs := []error{err}
	if all, ok := errors.AsType[utilerrors.Aggregate](err); ok {
		errs = utilerrors.Flatten(all).Errors()
	}
	about := undecodable(content)
	if len(about) == 0 {
		return errs
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return strings.HasPrefix(err.Error(), "unable to decode ") })
	return append(about, errs...)
}

// undecodable finds the objects whose metadata is not what metadata is.
func undecodable(content []byte) (errs []error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content)+1)
	for {
		var object map[string]any
		if err := decoder.Decode(&object); err != nil {
			return errs // the end, or what the reader has told of
		}
		errs = append(errs, wrongIn(object)...)
	}
}

func wrongIn(object map[string]any) (errs []error) {
	items, _, _ := unstructured.NestedSlice(object, "items")
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			errs = append(errs, wrongIn(object)...)
		}
	}
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, &metav1.PartialObjectMetadata{}) // which names the field
	}
	if err == nil || len(items) > 0 {
		return errs
	}
	o := unstructured.Unstructured{Object: object}
	name := document.Object{Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
	return append(errs, fmt.Errorf("the metadata of %s: %w", name, err))
}
