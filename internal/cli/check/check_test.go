package check

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"labhub.io/teamspace/internal/cli/access"
	"labhub.io/teamspace/internal/cli/exit"
	"labhub.io/teamspace/internal/cli/finding"
	"labhub.io/teamspace/ownership/ownershiptest"
)

// run runs the subcommand where no cluster is configured.
func run(t *testing.T, stdin string, args ...string) (out, notes string, status int) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	streams, in, stdout, stderr := genericiooptions.NewTestIOStreams()
	in.WriteString(stdin)
	command := New(streams, access.New())
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs(args)
	err := command.ExecuteContext(t.Context())
	if err != nil && !exit.Silent(err) {
		stderr.WriteString(err.Error())
	}
	return stdout.String(), stderr.String(), exit.Status(err)
}

// TestCheck_Offline compares all that can be said without a cluster with a golden file.
func TestCheck_Offline(t *testing.T) {
	out, notes, status := run(t, "", "-f", "testdata/all.yaml")
	if status != exit.Findings {
		t.Errorf("status %d", status)
	}
	if want := "note: without a cluster, whether owners exist was not looked at: 2 references\n"; notes != want {
		t.Errorf("noted %q", notes)
	}
	const file = "testdata/all.txt"
	if ownershiptest.Update() {
		if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out); diff != "" {
		t.Error(diff)
	}
}

// TestCheck_Sources: files, folders with and without what is in them, and stdin; each tells
// by its status.
func TestCheck_Sources(t *testing.T) {
	bad, err := os.ReadFile("testdata/all.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		stdin  string
		args   []string
		status int
		says   string
	}{
		"a clean file":             {"", []string{"-f", "testdata/nested/clean.json", "--offline"}, exit.Clean, ""},
		"a folder":                 {"", []string{"-f", "testdata/nested", "--offline"}, exit.Clean, ""},
		"a folder with all in it":  {"", []string{"-R", "-f", "testdata", "--offline"}, exit.Findings, ""},
		"stdin":                    {string(bad), []string{"-f", "-", "--offline"}, exit.Findings, ""},
		"several files":            {"", []string{"-f", "testdata/nested/clean.json", "-f", "testdata/all.yaml", "--offline"}, exit.Findings, ""},
		"a comma in the name":      {"", []string{"-f", "testdata/a, b.yaml"}, exit.CouldNotTell, `"testdata/a, b.yaml"`},
		"a file that is not there": {"", []string{"-f", "testdata/none.yaml"}, exit.CouldNotTell, "does not exist"},
		"no manifest":              {"a: b", []string{"-f", "-"}, exit.CouldNotTell, "Kind"},
		"no file":                  {"", []string{}, exit.CouldNotTell, "filename"},
		"metadata of no object":    {`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "ownerReferences": [1]}}`, []string{"-f", "-"}, exit.CouldNotTell, "stdin"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, notes, status := run(t, tc.stdin, tc.args...); status != tc.status || !strings.Contains(notes, tc.says) {
				t.Errorf("status %d, want %d; said %q", status, tc.status, notes)
			}
		})
	}
}

// TestCheck_JSON: the same in every format, and the source of each.
func TestCheck_JSON(t *testing.T) {
	out, _, _ := run(t, "", "-f", "testdata/all.yaml", "-o", "json")
	var report struct {
		Findings []struct {
			Source, Severity, Message string
		}
		Summary finding.Summary
	}
	if err := json.NewDecoder(bytes.NewBufferString(out)).Decode(&report); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, f := range report.Findings {
		count[f.Severity]++
		if f.Source != "testdata/all.yaml" {
			t.Errorf("source %q", f.Source)
		}
	}
	if count["error"] != report.Summary.Error || count["warning"] != report.Summary.Warning || count["info"] != report.Summary.Info || report.Summary.Error == 0 {
		t.Errorf("counted %v, told %+v", count, report.Summary)
	}
}
