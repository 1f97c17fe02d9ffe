package ownershiptest_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/ownershiptest"
)

const everything = `# prose
type acme.example/v2 Widget vanished-recently namespaced unmonitored unreadable orphans ignores-policy
Widget a/w =uid1 dying marked [hold fg orphan]
Widget:acme.example/v1beta1 b/w
ClusterWidget p -> ClusterWidget p +b -c
ConfigMap a/c -> Widget w -b +c; Widget ghost =none; "*v1.Widget:x; y" "two words" ="a \"b\""
ConfigMap a/d ["fg" "a b"] -> ClusterWidget p
"g/v, Kind=X:g/v" a/dying
restart:v1 "dying" -> Widget ghost; restart:v2 x
`

func TestParse_Print(t *testing.T) {
	s, err := ownershiptest.Parse(everything)
	if err != nil {
		t.Fatal(err)
	}
	printed := ownershiptest.Print(s.Graph)
	want := strings.TrimPrefix(everything, "# prose\n")
	if printed != want {
		t.Errorf("got:\n%s\nwant:\n%s", printed, want)
	}
	again, err := ownershiptest.Parse(printed)
	if err != nil {
		t.Fatal(err)
	}
	sameGraph(t, s.Graph, again.Graph)
}

func sameGraph(t *testing.T, a, b *graph.Graph) {
	t.Helper()
	if a.Len() != b.Len() || !reflect.DeepEqual(a.Types().All(), b.Types().All()) {
		t.Fatalf("%d objects became %d, or types changed", a.Len(), b.Len())
	}
	for id := range graph.ID(a.Len()) {
		if before, after := a.Object(id), b.Object(id); !reflect.DeepEqual(before, after) {
			t.Errorf("object %d\nwas %+v\nis  %+v", id, before, after)
		}
	}
}

func TestParse_Errors(t *testing.T) {
	for name, text := range map[string]string{
		"an object without a name":        "Widget",
		"a type without a kind":           "type v1",
		"an unknown trait":                "type v1 Thing shiny",
		"an unknown state":                "Widget a/w sleeping",
		"finalizers without an end":       "Widget a/w [x",
		"a reference without a name":      "Widget a/w -> Widget",
		"an unknown mark of a reference":  "Widget a/w -> Widget w +x",
		"an unknown policy":               "Widget a/w\ndelete sometimes Widget a/w",
		"a deletion of nothing":           "delete background",
		"a restart of something":          "Widget a/w\nrestart Widget a/w",
		"a deletion of what is not there": "delete background Widget a/w",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ownershiptest.Parse(text); !errors.Is(err, ownershiptest.ErrNotation) {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, text := range []string{`Widget "a`, `Widget a/w ="\q"`, `Widget a/w =""`} {
		if _, err := ownershiptest.Parse(text); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

func TestScenario_Find(t *testing.T) {
	s, err := ownershiptest.Parse("Widget a/w\nWidget:acme.example/v1beta1 a/v\nClusterWidget p\ndelete orphan ClusterWidget p")
	if err != nil {
		t.Fatal(err)
	}
	for object, want := range map[string]graph.ID{
		"Widget a/w": 0, "Widget:acme.example/v1beta1 a/v": 1, "ClusterWidget p": 2, "Widget b/w": graph.None,
		"Widget": graph.None, `"`: graph.None, "Widget:acme.example/v2 a/w": graph.None,
	} {
		if got, ok := s.Find(object); got != want || ok != (want != graph.None) {
			t.Errorf("%s: got %d", object, got)
		}
	}
	if p := s.Predict(); p.Likely(2).Exists || len(s.Steps) != 1 {
		t.Errorf("the scenario does not run: %v", s.Steps)
	}
}

// TestGolden_Format: a file is taken apart and put together as it was.
func TestGolden_Format(t *testing.T) {
	text := "# R07: kept\nWidget a/w\nConfigMap a/c -> Widget w\nrestart\n----\n" +
		"=> Widget a/w\n=> ConfigMap a/c -> Widget w\n\nWidget a/w\n----\n=> Widget a/w\n"
	file := filepath.Join(t.TempDir(), "case.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var seen []string
	ownershiptest.Golden(t, file, func(s *ownershiptest.Scenario) string {
		seen = append(seen, s.Prose...)
		return ownershiptest.Picture(s.Predict())
	})
	if !reflect.DeepEqual(seen, []string{"R07: kept"}) {
		t.Errorf("prose %q", seen)
	}
	after, err := os.ReadFile(file)
	if err != nil || string(after) != text && !ownershiptest.Update() {
		t.Errorf("the file changed: %v\n%s", err, after)
	}
}

// FuzzParse: whatever is read is printed so that it is read back as it was.
func FuzzParse(f *testing.F) {
	f.Add(everything)
	f.Add("Widget a/w\nConfigMap a/c -> Widget w\nrestart\ndelete default Widget a/w\ncreate ConfigMap a/c")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ownershiptest.Parse(text)
		if err != nil {
			return
		}
		again, err := ownershiptest.Parse(ownershiptest.Print(s.Graph))
		if err != nil {
			t.Fatalf("%v in\n%s", err, ownershiptest.Print(s.Graph))
		}
		sameGraph(t, s.Graph, again.Graph)
	})
}

// TestPicture: an end that is open is drawn with all that it may be.
func TestPicture(t *testing.T) {
	s, err := ownershiptest.Parse("Widget a/x [hold] -> Widget z\nWidget a/z [hold] -> Widget x +b\ndelete foreground Widget a/x")
	if err != nil {
		t.Fatal(err)
	}
	picture := ownershiptest.Picture(s.Predict())
	for _, want := range []string{"?> ", "live or dying", "Widget x kept or unblocked", "[hold] or ", "R19"} {
		if !strings.Contains(picture, want) {
			t.Errorf("no %q in\n%s", want, picture)
		}
	}
	if got := ownershiptest.PrintState(s.Graph, 0, s.Predict().Likely(0)); !strings.HasPrefix(got, "Widget a/x dying [hold") {
		t.Error(got)
	}
}
