package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseRelease(t *testing.T) {
	got, err := parseRelease("v1.37.2")
	if err != nil {
		t.Fatal(err)
	}
	const pkg = "k8s.io/component-base/version"
	want := "-s -w -X " + pkg + ".gitVersion=v1.37.2 -X " + pkg + ".gitMajor=1 -X " + pkg + ".gitMinor=37"
	if diff := cmp.Diff(want, got.ldflags()); diff != "" {
		t.Errorf("ldflags (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "1.37.2", "v1.37", "v1", "v..x"} {
		if _, err := parseRelease(bad); err == nil {
			t.Errorf("parseRelease(%q) succeeded", bad)
		}
	}
}

// clock is a clock that a test steps.
type clock struct{ now time.Time }

func (c *clock) step(d time.Duration) { c.now = c.now.Add(d) }

func TestProgress_Plain(t *testing.T) {
	var out strings.Builder
	c := &clock{now: time.Now()}
	p := &progress{w: &out, now: func() time.Time { return c.now }}
	p.draw() // nothing to tell yet
	p.begin("[1/2] etcd")
	p.downloading("go: downloading example.org/a v1.0.0")
	p.downloading("go: downloading example.org/b v1.0.0")
	c.step(10 * time.Second)
	p.draw()
	p.note("compiled %d packages of at most %d", 3, 9)
	c.step(90 * time.Second)
	p.draw()
	p.end(9)
	p.draw() // the step is over
	p.begin("[2/2] kubectl")
	p.end(0) // nothing was compiled
	want := `[1/2] etcd: downloading modules, the first is example.org/a v1.0.0
[1/2] etcd: downloading modules, 2 so far, now example.org/b v1.0.0, 10s
[1/2] etcd: compiled 3 packages of at most 9, 1m40s
[1/2] etcd: done, 9 packages compiled in 1m40s
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestProgress_TerminalRewritesItsLine(t *testing.T) {
	var out strings.Builder
	c := &clock{now: time.Now()}
	p := &progress{w: &out, now: func() time.Time { return c.now }, terminal: true}
	p.begin("etcd")
	p.note("abc")
	p.draw()
	p.note("d")
	p.draw()
	p.end(1)
	want := "etcd: abc, 0s\r             \retcd: d, 0s\r           \retcd: done, 1 packages compiled in 0s\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestStamps(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "etcd")
	if readStamps(dir).current("etcd", "inputs") {
		t.Error("a binary that does not exist is current")
	}
	if err := os.WriteFile(binary, []byte("one"), 0o755); err != nil {
		t.Fatal(err)
	}
	if readStamps(dir).current("etcd", "inputs") {
		t.Error("a binary of unknown origin is current")
	}
	if err := readStamps(dir).record("etcd", "inputs"); err != nil {
		t.Fatal(err)
	}
	if !readStamps(dir).current("etcd", "inputs") {
		t.Error("the binary just built is not current")
	}
	if readStamps(dir).current("etcd", "other inputs") {
		t.Error("the binary is current for other inputs")
	}
	if err := os.WriteFile(binary, []byte("replaced"), 0o755); err != nil {
		t.Fatal(err)
	}
	if readStamps(dir).current("etcd", "inputs") {
		t.Error("a binary that was replaced is current")
	}
	if err := os.WriteFile(filepath.Join(dir, stampFile), []byte("garbage"), 0o644); err != nil {
		t.Fatal(err)
	}
	if readStamps(dir).current("etcd", "inputs") {
		t.Error("a binary is current by a stamp file that cannot be read")
	}
}

func TestGoLines_ReturnsTheEndOfWhatWentWrong(t *testing.T) {
	tail, err := goLines(t.Context(), &strings.Builder{}, func(string) bool { return false }, "build", "example.invalid/absent")
	if err == nil || !strings.Contains(tail, "example.invalid/absent") {
		t.Errorf("goLines() = %q, %v, want an error and output that names the package", tail, err)
	}
}
