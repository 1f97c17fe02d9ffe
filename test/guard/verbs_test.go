package guard

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/world"
)

// setMode labels a namespace and waits, for two seconds at most, until the label counts.
func setMode(t *testing.T, w *world.World, ns, mode string) {
	t.Helper()
	heard := &warnings{}
	config := rest.CopyConfig(w.Admin)
	config.WarningHandler = heard
	c, err := client.New(config, client.Options{Scheme: w.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	w.Patch(t, object, fmt.Sprintf(`{"metadata":{"labels":{"guard.platform.labhub.io/mode":%q}}}`, mode))
	world.Eventually(t, 2*time.Second, "the label "+mode+" counts in "+ns, func() error {
		heard.text = ""
		denied := c.Create(t.Context(), configMap(ns, "mode-probe", ghost()), client.DryRunAll) != nil
		warned := strings.Contains(heard.text, "metadata.ownerReferences[0]")
		if denied != (mode == "enforce") || warned != (mode == "warn") {
			return fmt.Errorf("denied: %t, warned: %t", denied, warned)
		}
		return nil
	})
}

// warnings is the last warning of the API server to one client, which is not shared.
type warnings struct{ text string }

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) { w.text = text }

// writeManifest writes an object into a file, and returns its path.
func writeManifest(t *testing.T, object *corev1.ConfigMap) string {
	t.Helper()
	object.APIVersion, object.Kind = "v1", "ConfigMap"
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), object.Name+".json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestVerbs: every way in which kubectl can write a reference is denied alike, whoever
// asks, and the object stays as it was. The outsider is not told the uid.
func TestVerbs(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "verbs")
	alpha := site(t, w, ns, "alpha")
	bad := metav1.OwnerReference{APIVersion: "own.labhub.io/v1", Kind: "Site", Name: "alpha", UID: staleUID}
	w.Create(t, configMap(ns, "there"))
	w.Create(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "there"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	w.MustKubectl(t, "-n", ns, "apply", "--server-side", "-f", writeManifest(t, configMap(ns, "applied")))

	refs, err := json.Marshal([]metav1.OwnerReference{bad})
	if err != nil {
		t.Fatal(err)
	}
	object := fmt.Sprintf(`{"metadata":{"ownerReferences":%s}}`, refs)
	operations := fmt.Sprintf(`[{"op":"add","path":"/metadata/ownerReferences","value":%s}]`, refs)
	there, applied, fresh := writeManifest(t, configMap(ns, "there", bad)), writeManifest(t, configMap(ns, "applied", bad)), writeManifest(t, configMap(ns, "fresh", bad))
	lines := [][]string{
		{"create", "-f", fresh},
		{"create", "--dry-run=server", "-f", fresh},
		{"apply", "-f", fresh},
		{"apply", "-f", there},
		{"apply", "--server-side", "-f", fresh},
		{"apply", "--server-side", "-f", applied},
		{"apply", "--server-side", "--force-conflicts", "--field-manager=other", "-f", applied},
		{"replace", "-f", there},
		{"patch", "configmap", "there", "--type=merge", "-p", object},
		{"patch", "configmap", "there", "--type=strategic", "-p", object},
		{"patch", "configmap", "there", "--type=json", "-p", operations},
		{"patch", "service", "there", "--subresource=status", "--type=merge", "-p", object},
		{"patch", "service", "there", "--subresource=status", "--type=json", "-p", operations},
	}
	asOutsider(t, w)
	for user, as := range identities() {
		var told strings.Builder
		for _, line := range lines {
			answer := w.Kubectl(t, slices.Concat([]string{"-n", ns}, as, line)...)
			if answer.Code != 1 {
				t.Errorf("kubectl %q as %s: exit code %d, want 1", line, user, answer.Code)
			}
			text := strings.Join(line, " ") + "\n" + answer.Out
			for _, path := range []string{there, applied, fresh} {
				text = strings.ReplaceAll(text, path, filepath.Base(path))
			}
			told.WriteString("$ kubectl " + text)
		}
		if user == outsider {
			wantSilent(t, told.String(), alpha)
		}
		golden(t, "verbs-"+user+".txt", told.String())
	}
	for _, left := range []client.Object{configMap(ns, "there"), configMap(ns, "applied"), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "there"}}} {
		w.Get(t, left)
		if len(left.GetOwnerReferences()) != 0 {
			t.Errorf("%s has got references: %v", left.GetName(), left.GetOwnerReferences())
		}
	}
}

// TestCauses: what is wrong is told to machines too, to each what may be told.
func TestCauses(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "causes")
	alpha := site(t, w, ns, "alpha")
	stale := reference(alpha, "Site")
	stale.UID = staleUID
	var fields []string
	for _, cause := range causes(t, w.Client.Create(t.Context(), configMap(ns, "c", reference(alpha, "Site"), stale, ghost()))) {
		fields = append(fields, cause.Field)
	}
	// The uid of the second and the third is the same: one of nothing, so that each is
	// wrong by itself.
	if diff := cmp.Diff([]string{"metadata.ownerReferences[1].uid", "metadata.ownerReferences[2].name"}, fields); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	wantDeniedToBoth(t, w, creates(t, configMap(ns, "c", stale)), []client.Object{alpha}, "has uid")
}

// TestStaleUID: an owner that was made anew is another one, and sixty pairs that are made
// back to back are sixty good ones.
func TestStaleUID(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "pairs")
	for i := range 60 {
		name := fmt.Sprint("pair-", i)
		alpha := site(t, w, ns, name)
		w.Create(t, configMap(ns, name, reference(alpha, "Site")))
	}
	alpha := site(t, w, ns, "again")
	before := reference(alpha, "Site")
	w.Delete(t, alpha)
	w.AwaitGone(t, owner(ns, "again"))
	now := site(t, w, ns, "again")
	wantDeniedToBoth(t, w, creates(t, configMap(ns, "late", before)), []client.Object{now}, string(now.GetUID()), "use that uid")
	w.Create(t, configMap(ns, "late", reference(now, "Site")))
}

// TestUnchanged: what was there before stays updatable (P01), and may be taken away (P06).
func TestUnchanged(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "unchanged", "guard.platform.labhub.io/mode=off")
	setMode(t, w, ns, "off")
	// A type that nobody serves: the collector leaves it alone.
	unknown := metav1.OwnerReference{APIVersion: "apps/v7", Kind: "Deployment", Name: "x", UID: staleUID}
	c := configMap(ns, "c", unknown)
	w.Create(t, c)
	setMode(t, w, ns, "enforce")
	w.Patch(t, c, `{"metadata":{"labels":{"a":"b"}}}`)
	wantDeniedToBoth(t, w, creates(t, configMap(ns, "d", unknown)), nil, "apps/v1 Deployment")
	w.Patch(t, c, `{"metadata":{"ownerReferences":null}}`)
}
