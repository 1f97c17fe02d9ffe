package terminal

import (
	"bytes"
	"os"
	"testing"
)

func TestProgress_SilentWhereNobodyLooks(t *testing.T) {
	var out bytes.Buffer
	progress := NewProgress(&out)
	progress.Show("%d objects", 3)
	progress.Done()
	if out.Len() > 0 {
		t.Errorf("told %q", out.String())
	}
}

func TestProgress_LeavesNoTrace(t *testing.T) {
	var out bytes.Buffer
	progress := &Progress{out: &out}
	progress.Done()
	progress.Show("%d objects", 3)
	progress.Show("%d objects", 4)
	progress.Done()
	progress.Done()
	want := "\r\x1b[K3 objects\r\x1b[K4 objects\r\x1b[K"
	if out.String() != want {
		t.Errorf("told %q, want %q", out.String(), want)
	}
}

func TestColours_NotInAFile(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if Is(file) || Colours(file) || Is(&bytes.Buffer{}) {
		t.Error("a file is taken for a terminal")
	}
}
