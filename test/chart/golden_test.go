package chart

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"labhub.io/teamspace/test/helm"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sets are the names of the sets of values; the first one is that of the chart itself.
func sets(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "values", "*.yaml"))
	if err != nil || len(files) < 6 {
		t.Fatalf("sets of values: %q, %v", files, err)
	}
	names := []string{byDefault}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".yaml"); name != byDefault {
			names = append(names, name)
		}
	}
	return names
}

const byDefault = "default"

// rendered are the objects that the chart makes of a set, as text, by kind and name.
func rendered(t *testing.T, set string) map[string]string {
	t.Helper()
	out := helm.Template(t, "--values="+filepath.Join("testdata", "values", set+".yaml"))
	objects := map[string]string{}
	for _, object := range helm.Objects(t, out) {
		key := object.GetKind() + "/" + object.GetName()
		if ns := object.GetNamespace(); ns != "" {
			key = object.GetKind() + "/" + ns + "/" + object.GetName()
		}
		if _, twice := objects[key]; twice {
			t.Errorf("%s is there twice", key)
		}
		if object.GetKind() == "CustomResourceDefinition" {
			delete(object.Object, "spec") // generated, and compared with its source elsewhere
		}
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		objects[key] = string(text)
	}
	return objects
}

// TestGolden: all that the chart makes by itself, and what each set changes of it.
func TestGolden(t *testing.T) {
	base := rendered(t, byDefault)
	for _, set := range sets(t) {
		t.Run(set, func(t *testing.T) {
			objects, text := rendered(t, set), strings.Builder{}
			for _, key := range slices.Sorted(maps.Keys(objects)) {
				if set == byDefault || objects[key] != base[key] {
					fmt.Fprintf(&text, "--- # %s\n%s", key, objects[key])
				}
			}
			for _, key := range slices.Sorted(maps.Keys(base)) {
				if _, there := objects[key]; !there {
					fmt.Fprintf(&text, "--- # without %s\n", key)
				}
			}
			compare(t, filepath.Join("testdata", "golden", set+".yaml"), text.String())
		})
	}
}

// TestGolden_Notes: what a person is told after an installation.
func TestGolden_Notes(t *testing.T) {
	for _, set := range []string{byDefault, "fail", "small"} {
		t.Run(set, func(t *testing.T) {
			out, err := helm.Run(t, "install", "teamspace", helm.Chart(t), "--namespace=teamspace-system", "--dry-run=client",
				"--values="+filepath.Join("testdata", "values", set+".yaml"))
			_, notes, found := strings.Cut(out, "\nNOTES:\n")
			if err != nil || !found {
				t.Fatalf("helm install --dry-run: %v\n%s", err, out)
			}
			compare(t, filepath.Join("testdata", "golden", set+"-notes.txt"), notes)
		})
	}
}

func compare(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s is not what the chart makes (-want +got); run with -update if it should be:\n%s", golden, diff)
	}
}

// TestKept: what outlives the release says so to helm.
func TestKept(t *testing.T) {
	kept := map[string]bool{}
	for _, object := range helm.Objects(t, helm.Template(t)) {
		if object.GetAnnotations()["helm.sh/resource-policy"] == "keep" {
			kept[object.GetKind()] = true
		}
	}
	if want := map[string]bool{"CustomResourceDefinition": true, "Namespace": true}; !maps.Equal(kept, want) {
		t.Errorf("kept: %v, want %v", kept, want)
	}
}
