package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	alpha := owner("op-own", "alpha")
	w.Get(t, alpha)
	var told, outside strings.Builder
	manifest := func(name string) string {
		return strings.ReplaceAll(file(name), "ALPHA_UID", string(alpha.GetUID()))
	}
	try := func(name string) {
		told.WriteString("$ try " + name + "\n" + w.KubectlWith(t, manifest(name), "create", "-f", "-").Out)
	}
	asOutsider(t, w)
	for _, name := range []string{"alpha-good.yaml", "alpha-bad.yaml", "alpha-remote.yaml", "alpha-space.yaml"} {
		answer := w.KubectlWith(t, manifest(name), append(identities()[outsider], "create", "--dry-run=server", "-f", "-")...)
		outside.WriteString("$ try " + name + "\n" + answer.Out)
		try(name)
	}
	golden(t, "lab.txt", told.String())
	golden(t, "lab-outsider.txt", outside.String())
	wantSilent(t, outside.String(), alpha)

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

	setMode(t, w, "op-own", "enforce")
	setMode(t, w, "op-far", "enforce")

	// A Namespace follows the mode of the cluster; here the guard is away altogether.
	w.Stop(t, world.Manager)
	try("alpha-space.yaml")
	if !strings.HasSuffix(told.String(), "namespace/alpha-space created\n") {
		t.Errorf("with the guard away:\n%s", told.String())
	}
	w.Start(t, world.Manager)
	w.AwaitServing(t)

	unguarded := namespace(t, w, "unguarded", "guard.platform.labhub.io/mode=off")
	setMode(t, w, unguarded, "off")
	for cascade, stays := range map[string]bool{"background": false, "foreground": false, "orphan": true} {
		t.Run(cascade, func(t *testing.T) { deleteAlpha(t, w, cascade, stays, file("alpha.yaml"), file("alpha-good.yaml")) })
	}
	t.Run("finalizer", func(t *testing.T) { holdAlpha(t, w, file("alpha.yaml"), file("alpha-good.yaml")) })

	// What is well owned outlives a restart of the collector, and so does a Namespace that
	// is never collected, though its owner is gone.
	makeAlpha(t, w, file("alpha.yaml"), file("alpha-good.yaml"))
	w.Restart(t, world.ControllerManager)
	collected(t, w)
	w.Get(t, configMap("op-own", "alpha-good"))
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "alpha-space"}}
	w.Get(t, space)
	if space.DeletionTimestamp != nil {
		t.Errorf("alpha-space was deleted at %v", space.DeletionTimestamp)
	}
}

// makeAlpha makes alpha and what it owns, unless they are there.
func makeAlpha(t *testing.T, w *world.World, alpha, good string) {
	t.Helper()
	if answer := w.KubectlWith(t, alpha, "apply", "-f", "-"); answer.Code != 0 {
		t.Fatal(answer.Out)
	}
	owner := owner("op-own", "alpha")
	w.Get(t, owner)
	if answer := w.KubectlWith(t, strings.ReplaceAll(good, "ALPHA_UID", string(owner.GetUID())), "apply", "-f", "-"); answer.Code != 0 {
		t.Fatal(answer.Out)
	}
}

// deleteAlpha deletes alpha in one of the three ways.
func deleteAlpha(t *testing.T, w *world.World, cascade string, stays bool, alpha, good string) {
	t.Helper()
	makeAlpha(t, w, alpha, good)
	w.MustKubectl(t, "-n", "op-own", "delete", "site", "alpha", "--cascade="+cascade, "--timeout=60s")
	c := configMap("op-own", "alpha-good")
	if !stays {
		w.AwaitGone(t, c)
		return
	}
	w.Get(t, c)
	if len(c.OwnerReferences) > 0 {
		t.Errorf("references %v, want none", c.OwnerReferences)
	}
	w.Delete(t, c)
}

// holdAlpha deletes alpha while a finalizer holds it: it is an owner as long as it is
// there (K8).
func holdAlpha(t *testing.T, w *world.World, alpha, good string) {
	t.Helper()
	makeAlpha(t, w, alpha, good)
	held := owner("op-own", "alpha")
	w.Patch(t, held, `{"metadata":{"finalizers":["own.labhub.io/hold"]}}`)
	w.Delete(t, held)
	collected(t, w)
	w.Get(t, configMap("op-own", "alpha-good"))
	w.Patch(t, held, `{"metadata":{"finalizers":null}}`)
	w.AwaitGone(t, configMap("op-own", "alpha-good"))
}

// collected waits until the collector has come to what is made now, in a namespace in
// which the guard is off.
func collected(t *testing.T, w *world.World) {
	t.Helper()
	probe := configMap("unguarded", "probe", ghost())
	w.Create(t, probe)
	w.AwaitGone(t, probe)
}

// TestMode: a label is in effect within two seconds, in both directions.
func TestMode(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "mode")
	for _, mode := range []string{"off", "enforce", "warn", "audit", "enforce", "audit", "warn", "off"} {
		setMode(t, w, ns, mode)
	}
	// What is allowed in silence is in the audit log.
	setMode(t, w, ns, "enforce")
	setMode(t, w, ns, "audit")
	w.Create(t, configMap(ns, "audited", ghost()))
	const prefix = "ownerreferences.platform.labhub.io/"
	world.Eventually(t, world.Patience, "the verdict is in the audit log", func() error {
		found := w.AuditEvents(t, func(e world.AuditEvent) bool {
			return e.Object.Resource == "configmaps" && e.Object.Namespace == ns && e.Object.Name == "audited" && e.Verb == "create"
		})
		if len(found) != 1 {
			return fmt.Errorf("%d requests", len(found))
		}
		got := found[0].Annotations
		if got[prefix+"verdict"] != "denied" || got[prefix+"mode"] != "audit" || !strings.Contains(got[prefix+"message"], `Site "ghost" does not exist`) {
			return fmt.Errorf("annotations %v", got)
		}
		return nil
	})
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
