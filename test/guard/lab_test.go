package guard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"labhub.io/teamspace/test/world"
)

// TestLab is examples/ownership-lab, as its README tells it.
func TestLab(t *testing.T) {
	w := lab.World(t)
	file := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", "examples", "ownership-lab", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if answer := w.KubectlWith(t, file("alpha.yaml"), "apply", "-f", "-"); answer.Code != 0 {
		t.Fatal(answer.Out)
	}
	alpha := owner("Site", "op-own", "alpha")
	w.Get(t, alpha)
	var told strings.Builder
	try := func(name string) {
		manifest := strings.ReplaceAll(file(name), "ALPHA_UID", string(alpha.GetUID()))
		told.WriteString("$ try " + name + "\n" + w.KubectlWith(t, manifest, "create", "-f", "-").Out)
	}
	for _, name := range []string{"alpha-good.yaml", "alpha-bad.yaml", "alpha-remote.yaml", "alpha-space.yaml"} {
		try(name)
	}
	golden(t, "lab.txt", told.String())

	// The same without the guard: the collector does what the denials said.
	setMode(t, w, "op-own", "off")
	setMode(t, w, "op-far", "off")
	try("alpha-bad.yaml")
	try("alpha-remote.yaml")
	if !strings.HasSuffix(told.String(), "configmap/alpha-remote created\n") {
		t.Errorf("with the guard off:\n%s", told.String())
	}
	w.AwaitGone(t, configMap("op-own", "alpha-bad"))
	w.AwaitGone(t, configMap("op-far", "alpha-remote"))
	try("alpha-space.yaml")
	if !strings.Contains(told.String()[strings.LastIndex(told.String(), "$"):], "denied the request") {
		t.Error("a Namespace followed the mode of another namespace")
	}

	// What is well owned outlives a restart of the collector.
	w.Restart(t, world.ControllerManager)
	w.Get(t, configMap("op-own", "alpha-good"))
}

// TestMode: a label is in effect within two seconds, in both directions.
func TestMode(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "mode")
	setMode(t, w, ns, "off")
	setMode(t, w, ns, "enforce")
	setMode(t, w, ns, "warn")
	answer := w.Kubectl(t, "--namespace="+ns, "create", "--dry-run=server", "-f", writeManifest(t, configMap(ns, "warned", ghost())))
	if answer.Code != 0 || !strings.HasPrefix(answer.Out, "Warning: metadata.ownerReferences[0]") {
		t.Errorf("in mode warn: %+v", answer)
	}
	setMode(t, w, ns, "audit")
	answer = w.Kubectl(t, "--namespace="+ns, "create", "--dry-run=server", "-f", writeManifest(t, configMap(ns, "audited", ghost())))
	if answer.Code != 0 || strings.Contains(answer.Out, "Warning") {
		t.Errorf("in mode audit: %+v", answer)
	}
}

// TestMode_OfItsOwnManifest: a Namespace does not choose the mode that it is judged in.
func TestMode_OfItsOwnManifest(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	alpha := site(t, w, "default", "of-a-namespace")
	ns := &corev1.Namespace{}
	ns.Name, ns.Labels = "chooses", map[string]string{"guard.platform.labhub.io/mode": "off"}
	ns.OwnerReferences = append(ns.OwnerReferences, reference(alpha, "Site"))
	wantDenied(t, w.Client.Create(t.Context(), ns), "cluster-scoped")
}
