package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// recovery is how long it may take until the manager notices that the archive can be
// written again: its longest backoff is 30 s.
const recovery = 40 * time.Second

// TestDirectory_NotThere: a volume that is not mounted. It has a world of its own,
// because nobody else could delete anything meanwhile.
func TestDirectory_NotThere(t *testing.T) {
	w := world.Start(t, world.Options{})
	ts := w.Serve(t, world.TeamSpace("blocked", 4, "1"))
	elsewhere := w.ArchiveDir + "-elsewhere"
	if err := os.Rename(w.ArchiveDir, elsewhere); err != nil {
		t.Fatal(err)
	}
	w.Delete(t, ts)
	ts = w.AwaitCondition(t, "blocked", v1alpha1.ConditionArchived, metav1.ConditionFalse, v1alpha1.ReasonArchiveFailed)
	if condition := meta.FindStatusCondition(ts.Status.Conditions, v1alpha1.ConditionArchived); condition.Message == "" {
		t.Error("Archived does not say why")
	}
	world.Eventually(t, world.Patience, "an event tells of it", func() error {
		if events, _ := w.EventsOf(t, "blocked", v1alpha1.ReasonArchiveFailed); len(events) == 0 || events[0].Type != "Warning" {
			return fmt.Errorf("events %v", events)
		}
		return nil
	})

	// What is not in force any more is not called so, and is not made again.
	w.Delete(t, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.NamespaceFor("blocked"), Name: v1alpha1.QuotaName}})
	ts = w.AwaitCondition(t, "blocked", v1alpha1.ConditionQuotaInForce, metav1.ConditionFalse, v1alpha1.ReasonTerminating)
	ready := meta.FindStatusCondition(ts.Status.Conditions, v1alpha1.ConditionReady)
	if archived := meta.FindStatusCondition(ts.Status.Conditions, v1alpha1.ConditionArchived); !strings.Contains(ready.Message, archived.Message) {
		t.Errorf("Ready says %q, and nothing of the archive", ready.Message)
	}

	// Others are served, and nobody is let go. This lasts long enough for the backoff
	// to grow to many seconds.
	other := w.Serve(t, world.TeamSpace("meanwhile", 2, "1"))
	versions := map[string]bool{}
	world.Never(t, 12*time.Second, "while the archive is not there", func() error {
		w.Get(t, ts)
		versions[ts.ResourceVersion] = true
		if !slices.Contains(ts.Finalizers, v1alpha1.Finalizer) {
			return fmt.Errorf("finalizers %q", ts.Finalizers)
		}
		if _, err := os.Stat(w.ArchiveDir); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the directory was made: %w", err)
		}
		return nil
	})
	if len(versions) != 1 {
		t.Errorf("the status was written %d times more, with nothing new in it", len(versions)-1)
	}
	if _, times := w.EventsOf(t, "blocked", v1alpha1.ReasonArchiveFailed); times != 1 {
		t.Errorf("told %d times by events, want once", times)
	}
	if other = w.AwaitReady(t, other.Name); len(other.Finalizers) != 1 {
		t.Errorf("finalizers of another %q", other.Finalizers)
	}

	if err := os.Rename(elsewhere, w.ArchiveDir); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	w.AwaitGone(t, ts)
	if took := time.Since(began); took > recovery {
		t.Errorf("let go %s after the archive was back, want at most %s", took, recovery)
	}
	// Temporary files of the failed attempts are not left in it.
	want := []string{"blocked.json", filepath.Join("by-uid", string(ts.UID)+".json")}
	if diff := cmp.Diff(want, filesIn(t, w.ArchiveDir)); diff != "" {
		t.Errorf("files of the archive (-want +got):\n%s", diff)
	}
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files = append(files, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}
