package archive

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/archive"
	"labhub.io/teamspace/test/world"
)

// TestPlugin: a TeamSpace is deleted, found in the archive without saying where that is,
// and made again.
func TestPlugin(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ts := world.TeamSpace("again", 3, "1e0")
	ts.Labels = map[string]string{"cost": "seven"}
	first := w.Serve(t, ts)
	report := w.Plugin(t, "restore", "again")
	if report.Code != 2 || !strings.Contains(report.Err, "no such archive record") {
		t.Errorf("restoring what was never deleted: %+v", report)
	}
	w.Delete(t, first)
	w.AwaitGone(t, first)

	var listed struct{ Records []archive.Record }
	decode(t, w.MustPlugin(t, 0, "archive", "list", "-o", "json"), &listed)
	// Others archive into it at the same time.
	if !slices.ContainsFunc(listed.Records, func(r archive.Record) bool { return r.UID == string(first.UID) }) {
		t.Errorf("there is no record of uid %s: %+v", first.UID, listed)
	}
	var shown archive.Record
	decode(t, w.MustPlugin(t, 0, "archive", "show", "again", "-o", "json"), &shown)
	if shown.Pods != 3 || shown.CPU != "1e0" {
		t.Errorf("the record is %+v", shown)
	}

	w.AwaitGone(t, world.TeamNamespace("again"))
	if out := w.MustPlugin(t, 0, "restore", "again", "--dry-run"); !strings.Contains(out, "restored (dry run)") {
		t.Error(out)
	}
	w.MustPlugin(t, 0, "restore", "again")
	restored := &v1alpha1.TeamSpace{}
	restored.Name = "again"
	w.Get(t, restored)
	if restored.UID == first.UID || restored.Spec != first.Spec || restored.Labels["cost"] != "seven" {
		t.Errorf("restored %+v", restored)
	}
	if report := w.Plugin(t, "restore", "again"); report.Code != 2 || !strings.Contains(report.Err, "a TeamSpace of that name exists") {
		t.Errorf("a name that is taken: %+v", report)
	}
	w.AwaitReady(t, "again")
}

// TestPlugin_WhichArchive: what the manager publishes counts, unless it is not clear or
// somebody names another; and whoever only reads makes nothing.
func TestPlugin_WhichArchive(t *testing.T) {
	w := lab.World(t)
	published := &corev1.ConfigMap{}
	published.Namespace, published.Name = world.ReleaseNamespace, archive.PublishedName
	w.Get(t, published)
	if got, want := published.Data["url"], "configmap://"+world.ArchiveNamespace; got != want {
		t.Errorf("the manager publishes %q, want %q", got, want)
	}
	w.MustPlugin(t, 0, "archive", "list")

	second := published.DeepCopy()
	second.ObjectMeta = metav1.ObjectMeta{Namespace: "default", Name: archive.PublishedName, Labels: published.Labels}
	w.Create(t, second)
	w.MustPlugin(t, 0, "archive", "list") // the same archive, told twice
	w.Patch(t, second, `{"data":{"url":"file:///elsewhere"}}`)
	if report := w.Plugin(t, "archive", "list"); report.Code != 2 || !strings.Contains(report.Err, "several archives are published") {
		t.Errorf("two archives: %+v", report)
	}
	w.MustPlugin(t, 0, "archive", "list", "--archive=configmap://"+world.ArchiveNamespace)
	w.Delete(t, second)

	dir := filepath.Join(t.TempDir(), "none")
	if report := w.Plugin(t, "archive", "list", "--archive=file://"+dir); report.Code != 2 || !strings.Contains(report.Err, "not on this machine") {
		t.Errorf("a directory that is not here: %+v", report)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading made a directory: %v", err)
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}
