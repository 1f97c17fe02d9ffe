package world

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PID is the process of a program of the sandbox, such as kube-apiserver.
func (w *World) PID(t testing.TB, program string) int {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), w.Binary("sandbox"), "status", "--dir="+w.Dir, "-o", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name string `json:"name"`
		PID  int    `json:"pid"`
	}
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatalf("reading the status of the sandbox: %v\n%s", err, out)
	}
	for _, one := range all {
		if one.Name == program && one.PID > 0 {
			return one.PID
		}
	}
	t.Fatalf("the sandbox runs no %s:\n%s", program, out)
	return 0
}

// Render returns what the chart makes with these values, each written as key=value, but
// the Deployments.
func (w *World) Render(t testing.TB, values ...string) []client.Object {
	t.Helper()
	args := []string{"render", "--chart=" + filepath.Join(w.root, "charts", "teamspace"), "--namespace=" + ReleaseNamespace}
	for _, value := range values {
		args = append(args, "--set="+value)
	}
	out, err := exec.CommandContext(t.Context(), w.Binary("sandbox"), args...).Output()
	if err != nil {
		t.Fatalf("rendering the chart: %v", err)
	}
	var list unstructured.UnstructuredList
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("reading what the chart makes: %v", err)
	}
	var objects []client.Object
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	return objects
}

// Raw reads a page of the API server, such as /metrics.
func (w *World) Raw(t testing.TB, path string) string {
	t.Helper()
	return w.MustKubectl(t, "get", "--raw="+path)
}
