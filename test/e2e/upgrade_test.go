package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/helm"
	"labhub.io/teamspace/test/world"
)

// TestUpgrade: from the version before and back, with TeamSpaces, which stay Ready, and with the
// CRD, which follows; by either version of helm, and in the end by the fourth, which takes a
// release of the third over. A conflict of fields would fail any of the commands.
func TestUpgrade(t *testing.T) {
	for _, by := range []helm.Version{helm.Four, helm.Three} {
		t.Run(string(by), func(t *testing.T) {
			w := begin(t)
			previous, current := previousChart(t), helm.Chart(t)
			mustBy(t, w, by, "install", previous)
			w.AwaitServing(t)
			uids := populate(t, w, 2)
			since := readySince(t, w)
			for _, step := range []struct {
				by         helm.Version
				verb, from string
				args       []string
				want       string
			}{
				{by, "upgrade", current, nil, current},
				{by, "rollback", "", []string{"1"}, previous},
				{helm.Four, "upgrade", current, nil, current},
				{helm.Four, "upgrade", current, []string{"--server-side=true"}, current},
			} {
				mustBy(t, w, step.by, step.verb, step.from, step.args...)
				wantDefinition(t, w, step.want)
				w.AwaitServing(t)
				wantAdopted(t, w, uids)
				if diff := cmp.Diff(since, readySince(t, w)); diff != "" {
					t.Errorf("%s by %s: not all TeamSpaces have stayed Ready:\n%s", step.verb, step.by, diff)
				}
			}
			must(t, w, "uninstall", "--wait")
			wantNothingLeft(t, w)
			wantReleased(t, w, uids)
		})
	}
}

// mustBy is must by a version of helm, with a chart.
func mustBy(t *testing.T, w *world.World, by helm.Version, verb, chart string, args ...string) {
	t.Helper()
	if verb != "rollback" {
		args = append(args, brief)
	}
	if out, err := by.Run(t.Context(), t, command(t, w, verb, chart, args...)...); err != nil {
		t.Fatalf("%s %s: %v\n%s", by, verb, err, out)
	}
}

// definitionFile is that of the CRD in a chart.
const definitionFile = "files/platform.labhub.io_teamspaces.yaml"

// previousChart is one as a version before may have been. Its CRD lacks what versions add without
// a change of the API: a column, and a sentence of documentation. Another default has the pods
// replaced, as another image would.
func previousChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "teamspace")
	if err := os.CopyFS(dir, os.DirFS(helm.Chart(t))); err != nil {
		t.Fatal(err)
	}
	for _, edit := range []struct{ file, now, before string }{
		{"Chart.yaml", "\nversion: 0.1.0\n", "\nversion: 0.0.9\n"},
		{"values.yaml", "  level: info\n", "  level: debug\n"},
		{definitionFile, `    - description: Why it is Ready or not
      jsonPath: .status.conditions[?(@.type=="Ready")].message
      name: Message
      priority: 1
      type: string
`, ""},
		{definitionFile, "    - description: How many pods the team may run\n      jsonPath", "    - jsonPath"},
	} {
		path := filepath.Join(dir, edit.file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), edit.now) != 1 {
			t.Fatalf("%s does not have once what the version before had otherwise:\n%s", edit.file, edit.now)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), edit.now, edit.before, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// wantDefinition: the CRD of the cluster is that of a chart.
func wantDefinition(t *testing.T, w *world.World, chart string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chart, definitionFile))
	if err != nil {
		t.Fatal(err)
	}
	want := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, want); err != nil {
		t.Fatalf("reading the CRD of the chart: %v", err)
	}
	got := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.CRDName}}
	w.Get(t, got)
	if diff := cmp.Diff(want.Spec.Versions, got.Spec.Versions); diff != "" {
		t.Errorf("the CRD is not that of the chart:\n%s", diff)
	}
}

// readySince is since when each TeamSpace is Ready without a break.
func readySince(t *testing.T, w *world.World) map[string]metav1.Time {
	t.Helper()
	since := map[string]metav1.Time{}
	for _, ts := range teamSpaces(t, w) {
		if ready := meta.FindStatusCondition(ts.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Status == metav1.ConditionTrue {
			since[ts.Name] = ready.LastTransitionTime
		}
	}
	return since
}
