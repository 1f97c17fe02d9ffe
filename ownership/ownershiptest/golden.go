package ownershiptest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write golden files anew; commit only a difference that you understand")

// Update reports whether golden files are to be written anew.
func Update() bool { return *update }

// separator stands between a scenario and its picture.
const separator = "----"

// Golden runs the cases of each file that the pattern matches, and compares
// what render makes of each with what the file says. Cases are parted by empty
// lines; a case is a scenario, a line of dashes, and the picture. The name of a
// case is the first word of its prose.
func Golden(t *testing.T, pattern string, render func(*Scenario) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("finding golden files %s: %d found, %v", pattern, len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), func(t *testing.T) {
			goldenFile(t, file, render)
		})
	}
}

func goldenFile(t *testing.T, file string, render func(*Scenario) string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []string
	for text := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		cases = append(cases, goldenCase(t, text, render))
	}
	if got := strings.Join(cases, "\n"); *update && got != string(data) {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// goldenCase runs one case and returns how the file should have it.
func goldenCase(t *testing.T, text string, render func(*Scenario) string) string {
	t.Helper()
	scenario, want, _ := strings.Cut(strings.TrimSpace(text)+"\n", separator+"\n")
	s, err := Parse(scenario)
	if err != nil {
		t.Fatalf("%v in\n%s", err, scenario)
	}
	got := render(s)
	t.Run(caseName(s), func(t *testing.T) {
		if want != got && !*update {
			t.Errorf("%s\nwant:\n%s\ngot:\n%s", scenario, want, got)
		}
	})
	return scenario + separator + "\n" + got
}

func caseName(s *Scenario) string {
	if len(s.Prose) == 0 {
		return "unnamed"
	}
	name, _, _ := strings.Cut(s.Prose[0], " ")
	return strings.TrimSuffix(name, ":")
}
