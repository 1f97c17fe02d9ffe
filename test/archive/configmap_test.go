package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/archive"
	"labhub.io/teamspace/test/world"
)

// storeIn makes a namespace and returns a store in it.
func storeIn(t *testing.T, w *world.World, namespace string) *archive.ConfigMapStore {
	t.Helper()
	w.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	return archive.NewConfigMapStore(w.Client, namespace)
}

// record is that of a TeamSpace that was archived so many minutes after noon.
func record(t *testing.T, name, uid string, pods int32, minutes int) archive.Record {
	t.Helper()
	ts := world.TeamSpace(name, pods, "1e0")
	ts.UID = types.UID(uid)
	noon := time.Date(2030, time.May, 4, 12, 0, 0, 0, time.UTC)
	r, err := archive.NewRecord(ts, noon.Add(time.Duration(minutes)*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// uidsOf lists a store.
func uidsOf(t *testing.T, store archive.Store) []string {
	t.Helper()
	records, err := store.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var uids []string
	for _, r := range records {
		uids = append(uids, r.UID)
	}
	return uids
}

func save(t *testing.T, store archive.Store, records ...archive.Record) {
	t.Helper()
	for _, r := range records {
		if _, err := archive.Save(t.Context(), store, r); err != nil {
			t.Fatalf("saving the record of uid %s: %v", r.UID, err)
		}
	}
}

func TestConfigMapStore_ListsTheNewestFirst(t *testing.T) {
	t.Parallel()
	store := storeIn(t, lab.World(t), "newest-first")
	if got := uidsOf(t, store); len(got) != 0 {
		t.Errorf("an empty archive lists %q", got)
	}
	save(t, store, record(t, "a", "u-2", 2, 2), record(t, "b", "u-9", 2, 9), record(t, "c", "u-1", 2, 1), record(t, "d", "u-5", 2, 5))
	if diff := cmp.Diff([]string{"u-9", "u-5", "u-2", "u-1"}, uidsOf(t, store)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func TestConfigMapStore_NameUsedTwiceKeepsBoth(t *testing.T) {
	t.Parallel()
	store := storeIn(t, lab.World(t), "name-twice")
	save(t, store, record(t, "x", "u-1", 2, 1), record(t, "x", "u-2", 3, 2))
	if diff := cmp.Diff([]string{"u-2", "u-1"}, uidsOf(t, store)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	for uid, pods := range map[string]int64{"u-1": 2, "u-2": 3} {
		got, err := store.Get(t.Context(), uid)
		if err != nil || got.Pods != pods || got.Name != "x" || got.CPU != "1e0" {
			t.Errorf("Get(%s) = %+v, %v, want x with %d pods", uid, got, err, pods)
		}
	}
}

func TestConfigMapStore_SameUIDTwiceIsOneRecord(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	store := storeIn(t, w, "uid-twice")
	first := record(t, "x", "u-1", 2, 1)
	save(t, store, first, record(t, "x", "u-1", 2, 30))
	got, err := store.Get(t.Context(), "u-1")
	if err != nil || !got.ArchivedAt.Equal(first.ArchivedAt) {
		t.Errorf("archivedAt = %s, %v, want that of the first time, %s", got.ArchivedAt, err, first.ArchivedAt)
	}
	// Another content is another fact, and replaces it.
	save(t, store, record(t, "x", "u-1", 7, 40))
	if got, err := store.Get(t.Context(), "u-1"); err != nil || got.Pods != 7 {
		t.Errorf("pods = %d, %v, want the 7 of the last time", got.Pods, err)
	}
	var configMaps corev1.ConfigMapList
	if err := w.Client.List(t.Context(), &configMaps, client.InNamespace("uid-twice"), client.HasLabels{archive.LabelArchived}); err != nil {
		t.Fatal(err)
	}
	if len(configMaps.Items) != 1 {
		t.Errorf("%d ConfigMaps, want 1", len(configMaps.Items))
	}
}

func TestConfigMapStore_LeavesOthersAlone(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	store := storeIn(t, w, "others")
	w.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "others", Name: "not-a-record"}, Data: map[string]string{"record.json": "{"}})
	save(t, store, record(t, "x", "u-1", 2, 1))
	if diff := cmp.Diff([]string{"u-1"}, uidsOf(t, store)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if _, err := store.Get(t.Context(), "u-2"); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("Get of an unknown uid: %v, want ErrNotFound", err)
	}
}

func TestConfigMapStore_WithoutItsNamespace(t *testing.T) {
	t.Parallel()
	store := archive.NewConfigMapStore(lab.World(t).Client, "nowhere")
	if _, err := archive.Save(t.Context(), store, record(t, "x", "u-1", 2, 1)); err == nil {
		t.Error("a record was saved in a namespace that is not there")
	}
}

// TestManager_ArchivesAsTheChartHasIt: with nothing chosen, and with the permissions
// of the chart only.
func TestManager_ArchivesAsTheChartHasIt(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	var uids []string
	for _, pods := range []int32{3, 4} {
		ts := w.Serve(t, world.TeamSpace("kept", pods, "1e0"))
		w.Delete(t, ts)
		w.AwaitGone(t, ts)
		w.AwaitGone(t, world.TeamNamespace("kept"))
		uids = append(uids, string(ts.UID))
	}
	var configMaps corev1.ConfigMapList
	if err := w.Client.List(t.Context(), &configMaps, client.InNamespace(world.ArchiveNamespace), client.MatchingLabels{archive.LabelArchived: "kept"}); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, configMap := range configMaps.Items {
		var record struct {
			Name, UID, CPU string
			Pods           int
		}
		if err := json.Unmarshal([]byte(configMap.Data["record.json"]), &record); err != nil {
			t.Fatalf("ConfigMap %s: %v", configMap.Name, err)
		}
		got[record.UID] = fmt.Sprintf("%s: %d pods, cpu %s", record.Name, record.Pods, record.CPU)
		if len(configMap.OwnerReferences) > 0 {
			t.Errorf("ConfigMap %s goes with %v", configMap.Name, configMap.OwnerReferences)
		}
	}
	// Each was sent once: no pass comes back to a TeamSpace that is let go.
	w.AwaitQuiet(t, world.ManagerUser, time.Second, world.Patience)
	for _, uid := range uids {
		if writes := w.AuditEvents(t, func(e world.AuditEvent) bool {
			return e.User.Name == world.ManagerUser && e.Writes() && e.Object.Resource == "configmaps" && strings.HasSuffix(e.Object.Name, uid)
		}); len(writes) != 1 {
			t.Errorf("the record of uid %s was sent %d times: %v", uid, len(writes), writes)
		}
	}
	if diff := cmp.Diff(map[string]string{uids[0]: "kept: 3 pods, cpu 1e0", uids[1]: "kept: 4 pods, cpu 1e0"}, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// TestConfigMapStore_NamespaceGone: the permissions to write went with the namespace, and
// whoever reads the message learns how to get both back.
func TestConfigMapStore_NamespaceGone(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	for who, c := range map[string]client.Client{
		"who may everything":         w.Client,
		"who may nothing without it": w.As(t, world.ManagerUser, "system:authenticated"),
	} {
		store := archive.NewConfigMapStore(c, "gone")
		if err := store.Put(t.Context(), record(t, "x", "u-1", 2, 1)); err == nil || !strings.Contains(err.Error(), "apply the chart again") {
			t.Errorf("%s: %v", who, err)
		}
	}
}
