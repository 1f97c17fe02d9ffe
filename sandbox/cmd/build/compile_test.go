package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// module makes the test run in a module of its own, with one file.
func module(t *testing.T, source string) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("GOFLAGS", "")
	for name, text := range map[string]string{"go.mod": "module example.org/hello\n\ngo 1.24\n", "main.go": source} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// silent is a progress that nobody reads.
func silent() *progress { return &progress{w: io.Discard, now: time.Now} }

func TestCompile(t *testing.T) {
	module(t, "package main\n\nvar version string\n\nfunc main() { print(version) }\n")
	binary := filepath.Join(t.TempDir(), "hello")
	compiled, err := compile(t.Context(), target{binary: "hello", pkg: "example.org/hello"}, binary, "-X main.version=v1.2.3", silent())
	if err != nil {
		t.Fatal(err)
	}
	if compiled == 0 {
		t.Error("nothing was compiled")
	}
	if out, err := exec.CommandContext(t.Context(), binary).CombinedOutput(); err != nil || string(out) != "v1.2.3" {
		t.Errorf("the binary prints %q, %v, want its version", out, err)
	}
	compiled, err = compile(t.Context(), target{binary: "hello", pkg: "example.org/hello"}, binary, "-X main.version=v1.2.3", silent())
	if err != nil || compiled != 0 {
		t.Errorf("a second compilation compiled %d packages (%v), want none", compiled, err)
	}
}

func TestCompile_ErrorShowsWhatTheCompilerSays(t *testing.T) {
	module(t, "package main\n\nfunc main() { undefinedFunction() }\n")
	_, err := compile(t.Context(), target{binary: "hello", pkg: "example.org/hello"}, filepath.Join(t.TempDir(), "hello"), "", silent())
	for _, want := range []string{"building hello from example.org/hello", "main.go:3", "undefinedFunction"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("compile() = %v, want an error with %q", err, want)
		}
	}
}

func TestCompile_UnknownPackage(t *testing.T) {
	module(t, "package main\n\nfunc main() {}\n")
	_, err := compile(t.Context(), target{binary: "hello", pkg: "example.org/hello/absent"}, filepath.Join(t.TempDir(), "hello"), "", silent())
	if err == nil || !strings.Contains(err.Error(), "listing the packages of hello") {
		t.Errorf("compile() = %v, want an error that names the binary", err)
	}
}

func TestCompile_Interrupted(t *testing.T) {
	module(t, "package main\n\nfunc main() {}\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := compile(ctx, target{binary: "hello", pkg: "example.org/hello"}, filepath.Join(t.TempDir(), "hello"), "", silent())
	if err == nil {
		t.Error("compile() of what was interrupted succeeded")
	}
}

func TestKubernetesVersion_IsTheOneOfTheModule(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	got, err := kubernetesVersion(t.Context(), silent())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), "k8s.io/kubernetes "+got.git) {
		t.Errorf("version = %s, which go.mod does not name", got.git)
	}
}

func TestTargets_AreRequiredByTheModule(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	for _, target := range slices.Concat(targets, nodeTargets) {
		file := cmp.Or(target.modfile, "go.mod")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if target.pinned && !strings.Contains(string(data), "\t"+target.pkg+"\n") {
			t.Errorf("%s does not list %s as a tool: `go mod tidy` would drop what it needs", file, target.pkg)
		}
	}
}

func TestFingerprint(t *testing.T) {
	module(t, "package main\n\nfunc main() {}\n")
	digestOf := func(ldflags string) string {
		t.Helper()
		digest, err := fingerprint(t.Context(), ldflags, "")
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	if _, err := fingerprint(t.Context(), "", ""); err == nil {
		t.Error("fingerprint() without go.sum succeeded")
	}
	if err := os.WriteFile("go.sum", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first := digestOf("a")
	if digestOf("a") != first {
		t.Error("the same inputs have two fingerprints")
	}
	if digestOf("b") == first {
		t.Error("other flags have the same fingerprint")
	}
	for _, name := range []string{"other.mod", "other.sum"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if other, err := fingerprint(t.Context(), "a", "other.mod"); err != nil || other == first {
		t.Errorf("fingerprint() by another file is the same, %v", err)
	}
	if err := os.WriteFile("go.sum", []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if digestOf("a") == first {
		t.Error("other modules have the same fingerprint")
	}
}

func TestTarget_Flags(t *testing.T) {
	for name, tc := range map[string]struct {
		target target
		want   []string
	}{
		"pinned by go.mod":      {target: target{binary: "a"}},
		"pinned by another one": {target: target{modfile: "go.b.mod"}, want: []string{"-modfile=go.b.mod"}},
		"with tags":             {target: target{modfile: "go.b.mod", tags: "x,y"}, want: []string{"-modfile=go.b.mod", "-tags=x,y"}},
	} {
		if got := tc.target.flags(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: flags = %q, want %q", name, got, tc.want)
		}
	}
}
