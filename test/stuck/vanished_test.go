package stuck

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"labhub.io/teamspace/test/world"
)

// TestVanished is the incident: namespaces carry a reference to an object of an operator,
// which is deleted and made anew while nobody looks; at the next start of
// kube-controller-manager they are gone with everything in them. The log alone explains it.
func TestVanished(t *testing.T) {
	w := lab.World(t)
	first := create(t, w, "acme.example/v1", "ClusterWidget", "", "operator")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "vanished"}}
	owned := &unstructured.Unstructured{Object: map[string]any{}}
	blocking(first)(owned)
	ns.OwnerReferences = owned.GetOwnerReferences()
	w.Create(t, ns)
	content := create(t, w, "v1", "ConfigMap", "vanished", "precious")
	w.Stop(t, world.ControllerManager)
	w.Delete(t, first)
	second := create(t, w, "acme.example/v1", "ClusterWidget", "", "operator")
	w.Start(t, world.ControllerManager)
	w.AwaitGone(t, ns)
	w.AwaitGone(t, content)

	whole := copyLog(t, w)
	t.Run("the namespace", func(t *testing.T) {
		out := w.MustPlugin(t, 0, "explain", "namespace/vanished", "--audit-log="+whole)
		if err := lacks(out, []string{
			"Namespace vanished does not exist", "by the garbage collector (" + world.CollectorUser + ")",
			"because of metadata.ownerReferences[0], which named ClusterWidget \"operator\" (acme.example/v1) with uid " + string(first.GetUID()),
			"written at ", "by sandbox-admin", "found another one, with uid " + string(second.GetUID()),
			"the owner ClusterWidget \"operator\" (acme.example/v1) was deleted at ",
		}); err != nil {
			t.Error(err)
		}
	})
	t.Run("what was in it", func(t *testing.T) {
		out := w.MustPlugin(t, 0, "explain", "cm/precious", "-n", "vanished", "--audit-log="+whole)
		if err := lacks(out, []string{
			"ConfigMap vanished/precious was deleted at ", "namespace-controller", "with all others of its type",
			"its namespace was being deleted", "because of metadata.ownerReferences[0]",
		}); err != nil {
			t.Error(err)
		}
	})
	t.Run("in JSON", func(t *testing.T) {
		var document struct {
			State     string
			Deletions []struct {
				User       string
				Collector  bool
				References []struct {
					UID     string
					Look    struct{ Code int }
					Deleted struct{ User string }
				}
			}
		}
		decode(t, w.MustPlugin(t, 0, "explain", "ns", "vanished", "--audit-log="+whole, "-o", "json"), &document)
		if document.State != "gone" || len(document.Deletions) != 1 || !document.Deletions[0].Collector || len(document.Deletions[0].References) != 1 {
			t.Fatalf("the document is %+v", document)
		}
		if ref := document.Deletions[0].References[0]; ref.UID != string(first.GetUID()) || ref.Look.Code != 200 || ref.Deleted.User == "" {
			t.Errorf("the reference is %+v", ref)
		}
	})
	t.Run("from a log without bodies", func(t *testing.T) {
		out := w.MustPlugin(t, 0, "explain", "namespace/vanished", "--audit-log="+withoutBodies(t, whole))
		if err := lacks(out, []string{
			"by the garbage collector", "the log does not hold its references", "clusterwidgets.acme.example operator (answered 200)",
		}); err != nil {
			t.Error(err)
		}
	})
	t.Run("a log that begins too late", func(t *testing.T) {
		empty := filepath.Join(t.TempDir(), "empty.log")
		if err := os.WriteFile(empty, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		report := w.Plugin(t, "explain", "namespace/vanished", "--audit-log="+empty)
		if report.Code != 2 || !strings.Contains(report.Err, "does not tell of a deletion") {
			t.Errorf("%+v", report)
		}
	})
	t.Run("on the standard input, and twice", func(t *testing.T) {
		log, err := os.Open(whole)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		report := w.PluginWith(t, log, "explain", "namespace/vanished", "--audit-log=-", "--audit-log="+whole)
		if report.Code != 0 || strings.Count(report.Out, "- Namespace vanished was deleted at ") != 1 {
			t.Errorf("%+v", report)
		}
	})
	t.Run("what is no log", func(t *testing.T) {
		report := w.Plugin(t, "explain", "namespace/vanished", "--audit-log=main_test.go")
		if report.Code != 2 || !strings.Contains(report.Err, "main_test.go: not an audit log of Kubernetes (JSON lines)") {
			t.Errorf("%+v", report)
		}
	})
	t.Run("what never was", func(t *testing.T) {
		report := w.Plugin(t, "explain", "cm/never", "-n", "vanished", "--audit-log="+whole)
		if report.Code != 2 || !strings.Contains(report.Out, "if ConfigMap vanished/never was there then, it went at ") {
			t.Errorf("%+v", report)
		}
	})
	t.Run("without a log", func(t *testing.T) {
		report := w.Plugin(t, "explain", "namespace/vanished")
		if report.Code != 2 || !strings.Contains(report.Err, "--audit-log") {
			t.Errorf("%+v", report)
		}
	})
}

// withoutBodies is the log that a policy of the level Metadata would have left.
func withoutBodies(t *testing.T, path string) string {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out strings.Builder
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var event map[string]any
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			continue // the last line, which was being written
		}
		delete(event, "requestObject")
		delete(event, "responseObject")
		text, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
		out.WriteByte('\n')
	}
	bare := filepath.Join(t.TempDir(), "metadata.log")
	if err := os.WriteFile(bare, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return bare
}
