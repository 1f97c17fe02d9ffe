package archive

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	store "labhub.io/teamspace/archive"
	"labhub.io/teamspace/internal/cli/access"
)

func records() []store.Record {
	at := time.Date(2030, time.May, 4, 12, 0, 0, 0, time.UTC)
	return []store.Record{
		{Name: "alpha", UID: "u3", Pods: 3, CPU: "1e0", ArchivedAt: at.Add(time.Hour), SchemaVersion: 1, Manifest: json.RawMessage(`{"kind":"TeamSpace"}`)},
		{Name: "a-longer-name", UID: "u2", Pods: 50, CPU: "500m", ArchivedAt: at, SchemaVersion: 1},
		{Name: "alpha", UID: "u1", Pods: 1, CPU: "1", ArchivedAt: at.Add(-time.Hour), SchemaVersion: 1},
	}
}

func TestFind(t *testing.T) {
	for name, tc := range map[string]struct{ name, uid, want string }{
		"the newest of a name used twice":    {"alpha", "", "u3"},
		"an older one by its uid":            {"alpha", "u1", "u1"},
		"a uid of another name is not found": {"alpha", "u2", ""},
		"a name that was never used":         {"beta", "", ""},
		"a uid that was never used":          {"alpha", "u9", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Find(records(), tc.name, tc.uid)
			if got.UID != tc.want || (tc.want == "") != errors.Is(err, store.ErrNotFound) {
				t.Errorf("found %q (%v), want %q", got.UID, err, tc.want)
			}
		})
	}
}

func TestNamesOf(t *testing.T) {
	for typed, want := range map[string][]string{"": {"a-longer-name", "alpha"}, "al": {"alpha"}, "b": nil} {
		if got := namesOf(records(), typed); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", typed, got, want)
		}
	}
}

func TestPrintList(t *testing.T) {
	var out strings.Builder
	if err := printList(&out, records()); err != nil {
		t.Fatal(err)
	}
	want := `NAME            PODS   CPU    ARCHIVED               UID
alpha           3      1e0    2030-05-04T13:00:00Z   u3
a-longer-name   50     500m   2030-05-04T12:00:00Z   u2
alpha           1      1      2030-05-04T11:00:00Z   u1
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}

// TestList_Empty: an archive that holds nothing says so, and is no error.
func TestList_Empty(t *testing.T) {
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	command := New(streams, access.New())
	command.SetArgs([]string{"list", "-o", "json", "--archive=file://" + t.TempDir()})
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "note: no record: no TeamSpace has been deleted since the archive is kept\n"; errOut.String() != want {
		t.Errorf("noted %q, want %q", errOut, want)
	}
	if !strings.Contains(out.String(), `"records": []`) {
		t.Errorf("printed %s", out)
	}
}

func TestPrintRecord(t *testing.T) {
	var out strings.Builder
	if err := printRecord(&out, records()[0]); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"name: alpha\n", "cpu: \"1e0\"\n", "manifest:\n  kind: TeamSpace\n"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("the record lacks %q:\n%s", line, out.String())
		}
	}
}

// TestIsHere: whoever reads an archive does not make one.
func TestIsHere(t *testing.T) {
	dir := t.TempDir()
	for place, here := range map[string]bool{
		"configmap://teamspace-archive":             true,
		"file://" + dir:                             true,
		"file://" + filepath.Join(dir, "elsewhere"): false,
	} {
		if err := isHere(place); (err == nil) != here {
			t.Errorf("%s: %v", place, err)
		}
	}
}
