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
	t.Setenv("KUBECONFIG", os.DevNull)
	return execute(t, stdin, args...)
}

func execute(t *testing.T, stdin string, args ...string) (out, notes string, status int) {
	t.Helper()
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
	if status != exit.CouldNotTell {
		t.Errorf("status %d", status)
	}
	want := "note: deployments.apps could not be read, and may hold more: no cluster was asked whether these owners exist (references: 1)\n" +
		"note: things.other.example could not be read, and may hold more: no cluster was asked whether these owners exist (references: 1)\n"
	if notes != want {
		t.Errorf("noted %q", notes)
	}
	const file = "testdata/all.txt"
	if ownershiptest.Update() {
		if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), out); diff != "" {
		t.Error(diff)
	}
}

// TestCheck_Sources: files, folders with and without what is in them, and stdin; each tells
// by its status.
func TestCheck_Sources(t *testing.T) {
	const plain = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}`
	const refused = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "one"}]}}`
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
		"nothing to look for":      {plain, []string{"-f", "-", "--offline"}, exit.Clean, ""},
		"a finding":                {refused, []string{"-f", "-", "--offline"}, exit.Findings, ""},
		"an owner to look for":     {"", []string{"-f", "testdata/nested/clean.json", "--offline"}, exit.CouldNotTell, "nodes"},
		"a folder":                 {"", []string{"-f", "testdata/nested", "--offline"}, exit.CouldNotTell, "nodes"},
		"a folder with all in it":  {"", []string{"-R", "-f", "testdata", "--offline"}, exit.CouldNotTell, "things.other.example"},
		"stdin":                    {string(bad), []string{"-f", "-", "--offline"}, exit.CouldNotTell, "things.other.example"},
		"several files":            {plain, []string{"-f", "-", "-f", "testdata/nested/clean.json", "--offline"}, exit.CouldNotTell, "nodes"},
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

// TestCheck_Unreadable: what cannot be read hides nothing else, and is named: the file, and
// where it can be told the object in it.
func TestCheck_Unreadable(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const bad = "{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, ownerReferences: [{apiVersion: v1, kind: Event, name: e, uid: one}]}}\n"
	const number = "{apiVersion: v1, kind: ConfigMap, metadata: {name: number, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: 12345}]}}\n"
	broken := write("broken.yaml", bad+"---\na: b: c\n")
	numeric := write("numeric.yaml", number+"---\n"+bad)
	write("good.yaml", bad)
	missing := filepath.Join(folder, "missing.yaml")
	out, notes, status := run(t, number, "-f", folder, "-f", missing, "-f", "-", "-o", "json")
	var report struct {
		Findings   []struct{ Source string }
		Incomplete []struct{ Resource, Reason string }
		Summary    finding.Summary
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if status != exit.CouldNotTell || !strings.Contains(notes, "4 in all, could not be read") {
		t.Errorf("status %d, said %q", status, notes)
	}
	if len(report.Findings) != 3 || report.Summary.Error != 3 || report.Summary.Incomplete != 4 {
		t.Errorf("found %+v", report.Findings)
	}
	want := map[string]string{broken: "mapping values", numeric: "the metadata of ConfigMap number: json: cannot unmarshal number into Go struct field OwnerReference.metadata.ownerReferences.uid", missing: "does not exist", "stdin": "the metadata of ConfigMap number: "}
	for _, gap := range report.Incomplete {
		if words := want[gap.Resource]; words == "" || !strings.Contains(gap.Reason, words) {
			t.Errorf("%s: %q is not in %q", gap.Resource, words, gap.Reason)
		}
	}
}

// TestCheck_Kubeconfig: one that is named and not there is an error; whoever asks for no
// cluster gets none.
func TestCheck_Kubeconfig(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("KUBECONFIG", none)
	for name, tc := range map[string]struct {
		args   []string
		status int
		says   string
	}{
		"named and not there": {nil, exit.CouldNotTell, "KUBECONFIG names " + none + ", which is not there: correct it, or ask no cluster with --offline"},
		"by choice":           {[]string{"--offline"}, exit.CouldNotTell, "note: nodes could not be read, and may hold more: no cluster was asked whether these owners exist (references: 1)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, notes, status := execute(t, "", append(tc.args, "-f", "testdata/nested/clean.json")...); status != tc.status || notes != tc.says {
				t.Errorf("status %d, want %d; said %q", status, tc.status, notes)
			}
		})
	}
}
