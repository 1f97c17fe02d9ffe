package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

const resourcePath = "/apis/platform.labhub.io/v1alpha1/teamspaces/"

// raw is a TeamSpace as the API server sends it, past every Go type that could change
// or fill in something.
func raw(t *testing.T, w *world.World, name string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(w.MustKubectl(t, "get", "--raw", resourcePath+name)), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func spec(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	spec, ok := object["spec"].(map[string]any)
	if !ok {
		t.Fatalf("no spec in %v", object)
	}
	return spec
}

func TestTypeAlone_MakesNothing(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	w.KubectlWith(t, manifest("alone", `{"pods": 4}`), "apply", "-f", "-")
	world.Never(t, 3*time.Second, "without a manager", func() error {
		if status, there := raw(t, w, "alone")["status"]; there {
			return fmt.Errorf(".status is %v, want it absent", status)
		}
		err := w.Client.Get(t.Context(), client.ObjectKey{Name: "team-alone"}, world.TeamNamespace("alone"))
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading its namespace: %w, want that there is none", err)
		}
		return nil
	})
}

func TestCPU_DefaultsToOne(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	w.KubectlWith(t, manifest("defaulted", `{"pods": 4}`), "apply", "-f", "-")
	if got := spec(t, raw(t, w, "defaulted"))["cpu"]; got != "1" {
		t.Errorf("spec.cpu = %#v, want the string \"1\"", got)
	}
}

func TestCPU_StaysAsTyped(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	for i, cpu := range []string{"1", "1000m", "1.0", "1e0", "0.5", "500m", "+1", "01", "1000000u"} {
		name := fmt.Sprintf("typed-%d", i)
		answer := w.KubectlWith(t, manifest(name, fmt.Sprintf(`{"pods": 4, "cpu": %q}`, cpu)), "apply", "-f", "-")
		if answer.Code != 0 {
			t.Errorf("cpu %q: %s", cpu, answer.Out)
			continue
		}
		if got := spec(t, raw(t, w, name))["cpu"]; got != cpu {
			t.Errorf("spec.cpu = %#v, want %q as typed", got, cpu)
		}
	}
}

func TestGeneration(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ts := world.TeamSpace("generations", 4, "1")
	ts.Finalizers = []string{"example.com/holds"} // so that the deletion can be looked at
	w.Create(t, ts)
	for _, tc := range []struct {
		name   string
		change func()
		want   int64
	}{
		{name: "the first is 1", change: func() {}, want: 1},
		{name: "a label does not raise it", change: func() { w.Patch(t, ts, `{"metadata": {"labels": {"a": "b"}}}`) }, want: 1},
		{name: "an annotation does not raise it", change: func() { w.Patch(t, ts, `{"metadata": {"annotations": {"a": "b"}}}`) }, want: 1},
		{name: "pods raises it", change: func() { w.Patch(t, ts, `{"spec": {"pods": 5}}`) }, want: 2},
		{name: "cpu raises it, also when it says the same in other words", change: func() { w.Patch(t, ts, `{"spec": {"cpu": "1000m"}}`) }, want: 3},
		{name: "a patch without a change does not raise it", change: func() { w.Patch(t, ts, `{"spec": {"pods": 5}}`) }, want: 3},
		{name: "the deletion raises it", change: func() { w.Delete(t, ts) }, want: 4},
	} {
		tc.change()
		w.Get(t, ts)
		if ts.Generation != tc.want {
			t.Errorf("%s: generation %d, want %d", tc.name, ts.Generation, tc.want)
		}
	}
}

func TestStatus_DroppedFromTheMainResource(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ts := world.TeamSpace("status", 4, "1")
	ts.Status.Namespace = "mine"
	w.Create(t, ts)
	if got, there := raw(t, w, "status")["status"]; there {
		t.Errorf("after a create with a status it is %v, want it absent", got)
	}
	ts.Status = v1alpha1.TeamSpaceStatus{Namespace: "mine", ObservedGeneration: 7}
	if err := w.Client.Update(t.Context(), ts); err != nil {
		t.Fatal(err)
	}
	w.MustKubectl(t, "patch", "teamspace", "status", "--type=merge", "--patch", `{"status": {"namespace": "mine"}}`)
	if got, there := raw(t, w, "status")["status"]; there {
		t.Errorf("after an update with a status it is %v, want it absent", got)
	}
	if w.Get(t, ts); ts.Generation != 1 {
		t.Errorf("generation %d, want 1", ts.Generation)
	}
}

func TestKubectl_ShowsTheType(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	w.Create(t, world.TeamSpace("shown", 4, "1"))
	header, _, _ := strings.Cut(w.MustKubectl(t, "get", "ts", "shown"), "\n")
	if got, want := strings.Join(strings.Fields(header), " "), "NAME NAMESPACE PODS CPU READY AGE"; got != want {
		t.Errorf("kubectl get ts: columns %q, want %q", got, want)
	}
	header, _, _ = strings.Cut(w.MustKubectl(t, "get", "ts", "shown", "-o", "wide"), "\n")
	if got := strings.Fields(header); got[len(got)-1] != "MESSAGE" {
		t.Errorf("kubectl get ts -o wide: columns %q, want MESSAGE last", got)
	}
	for _, tc := range []struct{ field, want string }{
		{field: "teamspace", want: "namespace"},
		{field: "teamspace.spec.pods", want: "1 to 50"},
		{field: "teamspace.spec.cpu", want: "Kubernetes quantity"},
		{field: "teamspace.status.observedGeneration", want: "generation"},
	} {
		if out := w.MustKubectl(t, "explain", tc.field); !strings.Contains(strings.Join(strings.Fields(out), " "), tc.want) {
			t.Errorf("kubectl explain %s does not say %q:\n%s", tc.field, tc.want, out)
		}
	}
}
