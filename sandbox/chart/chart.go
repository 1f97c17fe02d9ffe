// Package chart renders a Helm chart as `helm install` would, and sorts what
// comes out by what a cluster without nodes can do with it.
package chart

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Release says as what a chart is rendered.
type Release struct {
	// Name and Namespace are the release's.
	Name, Namespace string
	// ValueFiles and Set change the values, as -f and --set do for helm.
	ValueFiles, Set []string
	// KubeVersion is the version of the cluster, APIs what it serves.
	KubeVersion string
	APIs        []string
}

// Manifests is a rendered chart. What helm would run as a hook is left out.
type Manifests struct {
	// CRDs and Objects are in the order in which they have to be applied, CRDs
	// before Objects.
	CRDs, Objects []*unstructured.Unstructured
	// Deployments are what a kubelet would run.
	Deployments []*appsv1.Deployment
}

// Render renders the chart in the folder, or the packed one in the file.
func Render(chartPath string, release Release) (*Manifests, error) {
	loaded, err := loader.Load(chartPath)
	if err != nil {
		return nil, fmt.Errorf("loading the chart %s: %w", chartPath, err)
	}
	files, err := render(loaded, release)
	if err != nil {
		return nil, fmt.Errorf("rendering the chart %s: %w", chartPath, err)
	}
	m := &Manifests{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := m.add(files[name]); err != nil {
			return nil, fmt.Errorf("reading the manifests of %s: %w", name, err)
		}
	}
	slices.SortStableFunc(m.Objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(rank(a.GetKind()), rank(b.GetKind()))
	})
	return m, nil
}

// render returns the text of each file that holds manifests.
func render(loaded *v2.Chart, release Release) (map[string]string, error) {
	values, err := mergeValues(release.ValueFiles, release.Set)
	if err != nil {
		return nil, err
	}
	version, err := common.ParseKubeVersion(release.KubeVersion)
	if err != nil {
		return nil, fmt.Errorf("reading the version %q of the cluster: %w", release.KubeVersion, err)
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	capabilities.APIVersions = release.APIs
	options := common.ReleaseOptions{Name: release.Name, Namespace: release.Namespace, Revision: 1, IsInstall: true}
	// This checks the values against the chart's schema as well.
	all, err := util.ToRenderValues(loaded, values, options, capabilities)
	if err != nil {
		return nil, err
	}
	var e engine.Engine
	files, err := e.Render(loaded, all)
	if err != nil {
		return nil, err
	}
	for name := range files {
		if base := path.Base(name); base == "NOTES.txt" || strings.HasPrefix(base, "_") {
			delete(files, name)
		}
	}
	for _, crd := range loaded.CRDObjects() {
		files[crd.Filename] = string(crd.File.Data)
	}
	return files, nil
}

// add sorts the documents of one file in.
func (m *Manifests) add(text string) error {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(object.Object) == 0 {
			continue // a document that a condition has emptied
		}
		if object.GetKind() == "" || object.GetAPIVersion() == "" || object.GetName() == "" {
			return fmt.Errorf("a document has no apiVersion, no kind or no name: %v", object.Object)
		}
		if err := m.addObject(object); err != nil {
			return err
		}
	}
}

// addObject sorts one object in.
func (m *Manifests) addObject(object *unstructured.Unstructured) error {
	if _, hook := object.GetAnnotations()["helm.sh/hook"]; hook {
		return nil
	}
	switch kind := object.GroupVersionKind().GroupKind().String(); kind {
	case "CustomResourceDefinition.apiextensions.k8s.io":
		m.CRDs = append(m.CRDs, object)
	case "Deployment.apps":
		deployment := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, deployment, true); err != nil {
			return fmt.Errorf("decoding the Deployment %q: %w", object.GetName(), err)
		}
		m.Deployments = append(m.Deployments, deployment)
	default:
		m.Objects = append(m.Objects, object)
	}
	return nil
}

// rank orders kinds: first what others lie in or refer to, last what judges
// requests, since that could refuse the rest.
func rank(kind string) int {
	switch kind {
	case "Namespace":
		return 0
	case "ServiceAccount", "Secret", "ConfigMap":
		return 1
	case "ClusterRole", "Role":
		return 2
	case "ClusterRoleBinding", "RoleBinding":
		return 3
	case "ValidatingAdmissionPolicy":
		return 5
	case "ValidatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		return 6
	}
	return 4
}
