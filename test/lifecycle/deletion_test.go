package lifecycle

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// readRecord decodes a file of the archive without any type of ours.
func readRecord(t *testing.T, path ...string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	var record map[string]any
	if err := json.Unmarshal(text, &record); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return record
}

func TestFinalizer_BesideForeignOnes(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ts := world.TeamSpace("beside", 4, "1")
	ts.Finalizers = []string{"example.com/z", "example.com/a"}
	ts = w.Serve(t, ts)
	if diff := cmp.Diff([]string{"example.com/z", "example.com/a", v1alpha1.Finalizer}, ts.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	// Taken away, it comes back behind the others.
	ts.Finalizers = []string{"example.com/z", "example.com/a"}
	if err := w.Client.Update(t.Context(), ts); err != nil {
		t.Fatal(err)
	}
	w.AwaitTeamSpace(t, "beside", "our finalizer is back", func(ts *v1alpha1.TeamSpace) bool {
		return slices.Equal(ts.Finalizers, []string{"example.com/z", "example.com/a", v1alpha1.Finalizer})
	})
}

func TestDeletion_ForeignFinalizersStay(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ts := world.TeamSpace("held", 4, "1")
	ts.Finalizers = []string{"example.com/z", "example.com/a"}
	ts = w.Serve(t, ts)
	w.Patch(t, ts, `{"metadata": {"finalizers": ["example.com/z", "platform.labhub.io/cleanup", "example.com/a"]}}`)
	w.Delete(t, ts)
	ts = w.AwaitTeamSpace(t, "held", "our finalizer is gone and the others are there in their order", func(ts *v1alpha1.TeamSpace) bool {
		return slices.Equal(ts.Finalizers, []string{"example.com/z", "example.com/a"})
	})
	if ts.DeletionTimestamp.IsZero() || isTrue(ts, "Ready") {
		t.Errorf("deletionTimestamp %v, conditions %+v, want it Terminating and not Ready", ts.DeletionTimestamp, ts.Status.Conditions)
	}
	if !isTrue(ts, "Archived") {
		t.Errorf("Archived is not True: %+v", ts.Status.Conditions)
	}
	world.Never(t, 2*time.Second, "the finalizers of others", func() error {
		w.Get(t, ts)
		if len(ts.Finalizers) != 2 {
			return fmt.Errorf("are %q", ts.Finalizers)
		}
		return nil
	})
	w.Patch(t, ts, `{"metadata": {"finalizers": null}}`)
	w.AwaitGone(t, ts)
}

func TestDeletion_ArchivedThenCollected(t *testing.T) {
	w := lab.World(t)
	ts := world.TeamSpace("archived", 4, "1e0")
	ts.Labels = map[string]string{"example.com/team": "blue"}
	ts = w.Serve(t, ts)
	ns := world.TeamNamespace("archived")
	w.Get(t, ns)

	w.Stop(t, world.Manager)
	w.Delete(t, ts)
	world.Never(t, 3*time.Second, "while the manager is stopped", func() error {
		w.Get(t, ts)
		if ts.DeletionTimestamp.IsZero() || !slices.Contains(ts.Finalizers, v1alpha1.Finalizer) {
			return fmt.Errorf("deletionTimestamp %v, finalizers %q", ts.DeletionTimestamp, ts.Finalizers)
		}
		if files, err := os.ReadDir(w.ArchiveDir); err != nil || hasFileOf("archived", files) {
			return fmt.Errorf("the archive has %v, %w", files, err)
		}
		return nil
	})
	w.Get(t, ns)
	if !ns.DeletionTimestamp.IsZero() {
		t.Error("the namespace goes before the TeamSpace is archived")
	}

	w.Start(t, world.Manager)
	w.AwaitGone(t, ts)
	checkRecord(t, ts, readRecord(t, w.ArchiveDir, "archived.json"))
	if diff := cmp.Diff(readRecord(t, w.ArchiveDir, "archived.json"), readRecord(t, w.ArchiveDir, "by-uid", string(ts.UID)+".json")); diff != "" {
		t.Errorf("the two files differ (-name +uid):\n%s", diff)
	}
	w.AwaitGone(t, ns)
	deleted := w.AuditEvents(t, func(e world.AuditEvent) bool {
		return e.Verb == "delete" && e.Object.Resource == "namespaces" && e.Object.Name == "team-archived" && e.Response.Code < 300
	})
	for _, event := range deleted {
		if event.User.Name != world.CollectorUser && event.User.Name != "system:serviceaccount:kube-system:namespace-controller" {
			t.Errorf("the namespace was deleted by %s: %s", event.User.Name, event)
		}
	}
	if !slices.ContainsFunc(deleted, func(e world.AuditEvent) bool { return e.User.Name == world.CollectorUser }) {
		t.Errorf("the namespace was not deleted by the garbage collector: %v", deleted)
	}
	if _, times := w.EventsOf(t, "archived", v1alpha1.ReasonArchiveWritten); times != 1 {
		t.Errorf("%d events tell of the archive, want 1", times)
	}
}

func hasFileOf(teamSpace string, files []os.DirEntry) bool {
	return slices.ContainsFunc(files, func(file os.DirEntry) bool { return file.Name() == teamSpace+".json" })
}

func checkRecord(t *testing.T, ts *v1alpha1.TeamSpace, record map[string]any) {
	t.Helper()
	for field, want := range map[string]any{
		"name": ts.Name, "uid": string(ts.UID), "cpu": "1e0", "pods": 4.0, "schemaVersion": 1.0,
		"used": map[string]any{"pods": "0", "requests.cpu": "0"},
	} {
		if diff := cmp.Diff(want, record[field]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
	at, err := time.Parse(time.RFC3339, fmt.Sprint(record["archivedAt"]))
	if err != nil || time.Since(at) > time.Hour || time.Since(at) < -time.Minute {
		t.Errorf("archivedAt = %v (%v)", record["archivedAt"], err)
	}
	manifest, ok := record["manifest"].(map[string]any)
	if !ok {
		t.Fatalf("manifest = %v", record["manifest"])
	}
	if diff := cmp.Diff(map[string]any{"pods": 4.0, "cpu": "1e0"}, manifest["spec"]); diff != "" {
		t.Errorf("manifest.spec (-want +got):\n%s", diff)
	}
	if manifest["kind"] != "TeamSpace" || manifest["apiVersion"] != "platform.labhub.io/v1alpha1" {
		t.Errorf("manifest is a %v of %v", manifest["kind"], manifest["apiVersion"])
	}
	if status, there := manifest["status"]; there {
		t.Errorf("manifest.status is there: %v", status)
	}
	metadata, ok := manifest["metadata"].(map[string]any)
	if !ok {
		t.Fatalf("manifest.metadata = %v", manifest["metadata"])
	}
	if managed, there := metadata["managedFields"]; there {
		t.Errorf("manifest.metadata.managedFields is there: %v", managed)
	}
	if diff := cmp.Diff(map[string]any{"example.com/team": "blue"}, metadata["labels"]); diff != "" || metadata["uid"] != string(ts.UID) {
		t.Errorf("manifest.metadata: uid %v, labels (-want +got):\n%s", metadata["uid"], diff)
	}
}

func TestDeletion_NameUsedTwiceLosesNothing(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	var uids []string
	for _, pods := range []int32{2, 3} {
		ts := w.Serve(t, world.TeamSpace("twice", pods, "1"))
		uids = append(uids, string(ts.UID))
		w.Delete(t, ts)
		w.AwaitGone(t, ts)
		w.AwaitGone(t, world.TeamNamespace("twice"))
	}
	if got := readRecord(t, w.ArchiveDir, "twice.json"); got["pods"] != 3.0 || got["uid"] != uids[1] {
		t.Errorf("twice.json tells of %v with %v pods, want the second", got["uid"], got["pods"])
	}
	for i, uid := range uids {
		if got := readRecord(t, w.ArchiveDir, "by-uid", uid+".json"); got["pods"] != float64(i+2) {
			t.Errorf("by-uid/%s.json tells of %v pods, want %d", uid, got["pods"], i+2)
		}
	}
}

func TestStoppedManager_CatchesUp(t *testing.T) {
	w := lab.World(t)
	ts := w.Serve(t, world.TeamSpace("behind", 4, "1"))
	w.Stop(t, world.Manager)
	w.Patch(t, ts, `{"spec": {"pods": 8}}`)
	w.Delete(t, world.LimitRange("behind"))
	world.Never(t, 2*time.Second, "while the manager is stopped", func() error {
		w.Get(t, ts)
		if ts.Generation != 2 || ts.Status.ObservedGeneration != 1 {
			return fmt.Errorf("generation %d and observedGeneration %d, want 2 and 1", ts.Generation, ts.Status.ObservedGeneration)
		}
		return nil
	})
	// Whoever waits for it is not told of the old generation.
	if answer := w.Kubectl(t, "wait", "teamspace/behind", "--for=condition=Ready", "--timeout=1s"); answer.Code == 0 {
		t.Errorf("kubectl wait took the Ready of the old generation:\n%s", answer.Out)
	}
	w.Start(t, world.Manager)
	w.AwaitReady(t, "behind")
	awaitSpecs(t, w, "behind", declared("8", "1"), share("125m"))
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(ts), ts); err != nil || ts.Status.ObservedGeneration != 2 {
		t.Errorf("observedGeneration %d, %v, want 2", ts.Status.ObservedGeneration, err)
	}
}
