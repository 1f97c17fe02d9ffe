package archive

import (
	"encoding/json"
	"strings"
	"testing"

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
	if len(listed.Records) == 0 || listed.Records[0].UID != string(first.UID) {
		t.Errorf("the newest record is not that of uid %s: %+v", first.UID, listed)
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

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}
