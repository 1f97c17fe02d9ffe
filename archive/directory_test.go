package archive

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func directory(t *testing.T) (*DirectoryStore, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "archive")
	store, err := NewDirectoryStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	return store, dir
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, relErr := filepath.Rel(dir, path)
			files = append(files, filepath.ToSlash(name))
			return relErr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

func TestDirectoryStore_aNameUsedTwiceKeepsBoth(t *testing.T) {
	store, dir := directory(t)
	first := recordOf(t, teamSpace("u1"), noon)
	second := recordOf(t, teamSpace("u2"), noon.Add(time.Minute))
	for _, record := range []Record{first, second} {
		if _, err := Save(t.Context(), store, record); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"by-uid/u1.json", "by-uid/u2.json", "x.json"}, filesIn(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	newest, err := os.ReadFile(filepath.Join(dir, "x.json"))
	if err != nil {
		t.Fatal(err)
	}
	if record, err := decode(newest); err != nil || record.UID != "u2" {
		t.Errorf("x.json holds uid %q (%v), want the newest, u2", record.UID, err)
	}
	records, err := store.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 2 || records[0].UID != "u2" || records[1].UID != "u1" {
		t.Errorf("list = %v, want u2 then u1", records)
	}
}

func TestSave_again(t *testing.T) {
	store, dir := directory(t)
	first := recordOf(t, teamSpace("u1"), noon)
	if _, err := Save(t.Context(), store, first); err != nil {
		t.Fatal(err)
	}
	// The first attempt was cut short after by-uid.
	if err := os.Remove(filepath.Join(dir, "x.json")); err != nil {
		t.Fatal(err)
	}
	later := teamSpace("u1")
	later.ResourceVersion = "8" // a status write came in between
	held, err := Save(t.Context(), store, recordOf(t, later, noon.Add(time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	if !held.ArchivedAt.Equal(first.ArchivedAt) {
		t.Errorf("archivedAt moved to %s", held.ArchivedAt)
	}
	if diff := cmp.Diff([]string{"by-uid/u1.json", "x.json"}, filesIn(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestSave_aTornRecordIsWrittenAnew(t *testing.T) {
	store, dir := directory(t)
	record := recordOf(t, teamSpace("u1"), noon)
	if err := store.Put(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "by-uid", "u1.json"), []byte(`{"name":"x"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Save(t.Context(), store, record); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Get(t.Context(), "u1"); err != nil {
		t.Errorf("the record is still torn: %v", err)
	}
}

func TestDirectoryStore_missingLater(t *testing.T) {
	store, dir := directory(t)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	record := recordOf(t, teamSpace("u1"), noon)
	if _, err := Save(t.Context(), store, record); err == nil {
		t.Fatal("a record was written into a directory that is not there")
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the directory was made again: %v", err)
	}
	if err := os.Mkdir(dir, 0o750); err != nil { // the volume is back
		t.Fatal(err)
	}
	if _, err := Save(t.Context(), store, record); err != nil {
		t.Errorf("no recovery: %v", err)
	}
}

// What is told in a condition must not change from one attempt to the next, or each
// attempt would be a change that brings the next one at once.
func TestDirectoryStore_failsInTheSameWords(t *testing.T) {
	store, dir := directory(t)
	if err := os.WriteFile(filepath.Join(dir, "by-uid"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	record := recordOf(t, teamSpace("u1"), noon)
	first, second := store.Put(t.Context(), record), store.Put(t.Context(), record)
	if first == nil || second == nil || first.Error() != second.Error() {
		t.Errorf("two failures in a row: %v, then %v", first, second)
	}
}

func TestWithoutPath(t *testing.T) {
	for name, err := range map[string]error{
		"open":   &os.PathError{Op: "open", Path: "/archive/x.json.18ec.tmp", Err: os.ErrPermission},
		"rename": &os.LinkError{Op: "rename", Old: "/archive/x.json.18ec.tmp", New: "/archive/x.json", Err: os.ErrPermission},
	} {
		if got := withoutPath(err); !errors.Is(got, os.ErrPermission) || got.Error() != name+": permission denied" {
			t.Errorf("withoutPath(%v) = %v", err, got)
		}
	}
}

func TestDirectoryStore_cannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := Open("file://"+file, nil)
	if !errors.Is(err, ErrUnavailable) || store == nil {
		t.Fatalf("Open = %v, %v, want a store and ErrUnavailable", store, err)
	}
	if err := store.Put(t.Context(), recordOf(t, teamSpace("u1"), noon)); err == nil {
		t.Error("a record was written into a file")
	}
}

func TestDirectoryStore_leftOverTemporaryFiles(t *testing.T) {
	store, dir := directory(t)
	if err := store.Put(t.Context(), recordOf(t, teamSpace("u1"), noon)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "by-uid", "u2.json.tmp123"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	records, err := store.List(t.Context())
	if err != nil || len(records) != 1 {
		t.Errorf("list = %v, %v, want the one record", records, err)
	}
}

func TestDirectoryStore_notFound(t *testing.T) {
	store, _ := directory(t)
	if _, err := store.Get(t.Context(), "none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Get = %v, want ErrNotFound", err)
	}
	if records, err := store.List(t.Context()); err != nil || len(records) != 0 {
		t.Errorf("List of an empty archive = %v, %v", records, err)
	}
}

func TestOpen_refuses(t *testing.T) {
	for _, url := range []string{
		"", "teamspace-archive", "s3://bucket", "file://relative/dir", "file://", "file:///", "configmap://",
		"configmap://Upper", "configmap://ns/path", "file:///dir?create_dir=1", "file://user@/dir", "configmap://%zz",
	} {
		t.Run(url, func(t *testing.T) {
			if store, err := Open(url, nil); err == nil || errors.Is(err, ErrUnavailable) || store != nil {
				t.Errorf("Open(%q) = %v, %v, want a refusal", url, store, err)
			}
		})
	}
}

func TestOpen_configMap(t *testing.T) {
	store, err := Open("configmap://teamspace-archive", nil)
	if err != nil {
		t.Fatal(err)
	}
	if inCluster, ok := store.(*ConfigMapStore); !ok || inCluster.Namespace() != "teamspace-archive" {
		t.Errorf("Open = %#v", store)
	}
}
