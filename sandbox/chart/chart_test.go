package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fixture is the release that the tests render.
func fixture() Release {
	return Release{
		Name: "teamspace", Namespace: "teamspace-system",
		KubeVersion: "v1.37.2", APIs: []string{"v1", "coordination.k8s.io/v1"},
	}
}

// mustRender renders the chart of the tests.
func mustRender(t *testing.T, release Release) *Manifests {
	t.Helper()
	m, err := Render("testdata/fixture", release)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// names are the objects as kind and name.
func names(objects []*unstructured.Unstructured) []string {
	var all []string
	for _, o := range objects {
		all = append(all, o.GetKind()+"/"+o.GetName())
	}
	return all
}

func TestRender_SortsWhatComesOut(t *testing.T) {
	release := fixture()
	release.Set = []string{"webhook=true"}
	m := mustRender(t, release)
	if diff := cmp.Diff([]string{"CustomResourceDefinition/olds.example.org", "CustomResourceDefinition/news.example.org"}, names(m.CRDs)); diff != "" {
		t.Errorf("CRDs (-want +got):\n%s", diff)
	}
	want := []string{
		"ServiceAccount/teamspace-manager",
		"ClusterRoleBinding/teamspace-manager",
		"ValidatingWebhookConfiguration/teamspace-manager",
	}
	if diff := cmp.Diff(want, names(m.Objects)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if len(m.Deployments) != 1 || m.Deployments[0].Spec.Template.Spec.ServiceAccountName != "teamspace-manager" {
		t.Errorf("deployments = %v, want the one of the manager", m.Deployments)
	}
}

func TestRender_KnowsReleaseAndCluster(t *testing.T) {
	account := mustRender(t, fixture()).Objects[0]
	if got := account.GetNamespace(); got != "teamspace-system" {
		t.Errorf("namespace = %q", got)
	}
	want := map[string]string{"label": "default", "kube": "v1.37.2", "has-leases": "true"}
	if diff := cmp.Diff(want, account.GetLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestRender_Values(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i, text := range []string{"label: first\nreplicas: 3\n", "label: second\n"} {
		files = append(files, filepath.Join(dir, string(rune('a'+i))))
		if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	release := fixture()
	release.ValueFiles = files
	m := mustRender(t, release)
	if got := m.Objects[0].GetLabels()["label"]; got != "second" {
		t.Errorf("label = %q, want that of the second file", got)
	}
	if got := *m.Deployments[0].Spec.Replicas; got != 3 {
		t.Errorf("replicas = %d, want those of the first file", got)
	}
	release.Set = []string{"label=third"}
	if got := mustRender(t, release).Objects[0].GetLabels()["label"]; got != "third" {
		t.Errorf("label = %q, want that of the setting", got)
	}
}

func TestRender_Errors(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Release)
		chart  string
		want   string
	}{
		"the schema refuses a value":       {change: func(r *Release) { r.Set = []string{"unknown=1"} }, want: "unknown"},
		"a setting is malformed":           {change: func(r *Release) { r.Set = []string{"a[x]=1"} }, want: "a[x]=1"},
		"a values file is absent":          {change: func(r *Release) { r.ValueFiles = []string{"/absent"} }, want: "/absent"},
		"the chart is absent":              {chart: "testdata/absent", want: "testdata/absent"},
		"the version cannot be understood": {change: func(r *Release) { r.KubeVersion = "new" }, want: `"new"`},
	} {
		t.Run(name, func(t *testing.T) {
			release := fixture()
			if tc.change != nil {
				tc.change(&release)
			}
			if tc.chart == "" {
				tc.chart = "testdata/fixture"
			}
			if _, err := Render(tc.chart, release); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Render() = %v, want an error with %q", err, tc.want)
			}
		})
	}
}
