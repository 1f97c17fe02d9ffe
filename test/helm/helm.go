// Package helm runs the real helm for tests, with nothing of the person's own settings.
package helm

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"labhub.io/teamspace/test/program"
	"labhub.io/teamspace/test/world"
)

// Chart is the folder of the chart.
func Chart(t testing.TB) string { return filepath.Join(root(t), "charts", "teamspace") }

// Version is one of those of helm that people use.
type Version string

// The versions, each by the name of its program.
const (
	// Four applies on the server, and is what runs where nothing else is said.
	Four Version = "helm"

	// Three compares with what it applied before.
	Three Version = "helm3"
)

// Run runs helm. Its output is that of both streams.
func Run(t testing.TB, args ...string) (output string, err error) {
	t.Helper()
	return Four.Run(t.Context(), t, args...)
}

// Run runs this version of helm. Its output is that of both streams.
func (v Version) Run(ctx context.Context, t testing.TB, args ...string) (output string, err error) {
	t.Helper()
	path, err := program.Find(root(t), filepath.Join("tools", string(v)))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Template returns what the chart makes, in the words of helm: hooks and Deployments too.
func Template(t testing.TB, args ...string) string {
	t.Helper()
	out, err := Run(t, append([]string{"template", "teamspace", Chart(t), "--namespace=" + world.ReleaseNamespace}, args...)...)
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, out)
	}
	return out
}

// Objects reads the objects of what Template returned.
func Objects(t testing.TB, rendered string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(rendered), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("reading what helm has rendered: %v", err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

func root(t testing.TB) string {
	t.Helper()
	root, err := program.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}
