package directory

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// acquire takes hold of the folder until the test ends.
func acquire(t *testing.T, path string) *Directory {
	t.Helper()
	d, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Release)
	return d
}

func TestAcquire_OneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "on the way")
	first := acquire(t, path)
	_, err := Acquire(path)
	inUse, ok := errors.AsType[*InUseError](err)
	if !ok || inUse.Path != path || inUse.PID != os.Getpid() {
		t.Fatalf("Acquire() = %v, want an InUseError with the path and process %d", err, os.Getpid())
	}
	first.Release()
	acquire(t, path)
}

func TestAcquire_RemovesAStaleMark(t *testing.T) {
	path := t.TempDir()
	d := acquire(t, path)
	if err := d.MarkReady(); err != nil {
		t.Fatal(err)
	}
	d.Release()
	acquire(t, path)
	if _, err := os.Stat(filepath.Join(path, "ready")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the mark is still there: %v", err)
	}
}

func TestAcquire_AnotherDoesNotRemoveTheMark(t *testing.T) {
	path := t.TempDir()
	if err := acquire(t, path).MarkReady(); err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(path); err == nil {
		t.Fatal("a second Acquire() succeeded")
	}
	if _, err := os.Stat(filepath.Join(path, "ready")); err != nil {
		t.Errorf("the mark of the first is gone: %v", err)
	}
}

func TestAcquire_ErrorsNameThePath(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"a file":       file,
		"below a file": filepath.Join(file, "dir"),
		"too long":     filepath.Join(root, strings.Repeat("x", 300)),
	} {
		_, err := Acquire(path)
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: Acquire() = %v, want an error with the path", name, err)
		}
	}
}

func TestDirectory_LogSetsTheOldOneAside(t *testing.T) {
	d := acquire(t, t.TempDir())
	path, err := d.Log("etcd")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Log("etcd"); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path + ".old"); err != nil || string(data) != "first" {
		t.Errorf("the old log = %q, %v, want what was in it", data, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log is still there: %v", err)
	}
}
