package preview

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/ownershiptest"
)

// played is the deletion that the first step of a scenario asks for.
func played(s *ownershiptest.Scenario) *deletion {
	_, rest, _ := strings.Cut(s.Steps[0], " ")
	policy, object, _ := strings.Cut(rest, " ")
	id, ok := s.Find(object)
	if !ok {
		panic("no object " + object)
	}
	instances := map[graph.ID][]graph.ID{}
	if strings.HasPrefix(object, "CustomResourceDefinition ") {
		for i := range graph.ID(s.Graph.Len()) {
			if _, kind, _ := s.Graph.Kind(i); kind == "Widget" {
				instances[id] = append(instances[id], i)
			}
		}
	}
	return predict(request{graph: s.Graph, policy: cascades[policy], targets: []graph.ID{id}, instances: instances})
}

func TestGolden(t *testing.T) {
	ownershiptest.Golden(t, "testdata/*.txt", func(s *ownershiptest.Scenario) string {
		d := played(s)
		var out strings.Builder
		if err := d.print(&out, d.report(nil, nil)); err != nil {
			t.Fatal(err)
		}
		// An empty line parts the cases of a file.
		return strings.ReplaceAll(out.String(), "\n\n", "\n")
	})
}

// TestReport_CountsWhatItLists: the summary is that of the lists, each object is in one of
// them, and an empty list is a list.
func TestReport_CountsWhatItLists(t *testing.T) {
	s, err := ownershiptest.Parse(`
		Widget a/w
		Widget a/other
		ConfigMap a/goes -> Widget w +b
		ConfigMap a/stays -> Widget w; Widget other
		delete foreground Widget a/w`)
	if err != nil {
		t.Fatal(err)
	}
	incomplete := []inventory.Incomplete{{Resource: "gadgets.acme.example", Reason: "forbidden"}}
	text, err := json.Marshal(played(s).report([]Refusal{{Message: "denied"}}, incomplete))
	if err != nil {
		t.Fatal(err)
	}
	var r map[string]json.RawMessage
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	var summary map[string]int
	if err := json.Unmarshal(r["summary"], &summary); err != nil {
		t.Fatal(err)
	}
	for name, count := range summary {
		var list []any
		if err := json.Unmarshal(r[name], &list); err != nil || list == nil || len(list) != count {
			t.Errorf("%s: %d in the list, %d in the summary (%v)", name, len(list), count, err)
		}
	}
	if summary["deleted"] != 2 || summary["pruned"] != 1 || summary["incomplete"] != 1 || summary["refused"] != 1 || len(summary) != 10 {
		t.Errorf("the summary is %v", summary)
	}
}

func TestCascades(t *testing.T) {
	if cascades["background"] != metav1.DeletePropagationBackground || len(cascades) != 3 {
		t.Errorf("kubectl has three cascades: %v", cascades)
	}
}

// TestUnread: of a namespace that may hold more than was read it is not said that it goes,
// now or afterwards, nor of what goes with it.
func TestUnread(t *testing.T) {
	s, err := ownershiptest.Parse(`
		Namespace n
		ConfigMap n/c
		ClusterRole r -> Namespace n`)
	if err != nil {
		t.Fatal(err)
	}
	namespace, _ := s.Find("Namespace n")
	r := predict(request{
		graph: s.Graph, policy: metav1.DeletePropagationBackground, targets: []graph.ID{namespace}, unread: []graph.ID{namespace},
	}).report(nil, nil)
	if len(r.Deleted) != 1 || r.Deleted[0].Object.Kind != "ConfigMap" || len(r.NonDeterministic) != 2 || len(r.Afterwards) != 0 {
		t.Errorf("%+v", r)
	}
	for _, step := range r.Order {
		if step.Verb == "removed" && step.Object.Kind != "ConfigMap" {
			t.Errorf("the order says: %s", step.Message)
		}
	}
}

// TestRefused: a refusal comes before all that would happen otherwise, on one line.
func TestRefused(t *testing.T) {
	s, err := ownershiptest.Parse("ConfigMap a/c\ndelete background ConfigMap a/c")
	if err != nil {
		t.Fatal(err)
	}
	d := played(s)
	var out strings.Builder
	refused := []Refusal{{Target: document.ObjectOf(s.Graph, 0), Message: "denied:\n  it is needed"}}
	if err := d.print(&out, d.report(refused, nil)); err != nil {
		t.Fatal(err)
	}
	want := "Refused:\n  - ConfigMap a/c: denied: it is needed\n\nIf it were let through:\nConfigMap a/c: deleted\n"
	if !strings.HasPrefix(out.String(), want) {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// TestLetGo: the namespace that a controller takes its reference off is not said to go with
// the definition of TeamSpace, nor what is in it; the TeamSpace and the definition are.
func TestLetGo(t *testing.T) {
	for name, tc := range map[string]struct {
		definition, finalizer string
		later, notes          int
	}{
		"the definition of TeamSpace":   {v1alpha1.CRDName, v1alpha1.Finalizer, 2, 1},
		"a TeamSpace that nobody holds": {v1alpha1.CRDName, "acme.example/hold", 4, 0},
		"another definition":            {"teamspaces.acme.example", v1alpha1.Finalizer, 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ownershiptest.Parse(fmt.Sprintf(`
				CustomResourceDefinition %s
				ClusterRole alpha [%s]
				Namespace team-alpha -> ClusterRole alpha +b
				ConfigMap team-alpha/c`, tc.definition, tc.finalizer))
			if err != nil {
				t.Fatal(err)
			}
			definition, _ := s.Find("CustomResourceDefinition " + tc.definition)
			teamSpace, _ := s.Find("ClusterRole alpha")
			r := predict(request{
				graph: s.Graph, policy: metav1.DeletePropagationBackground, targets: []graph.ID{definition},
				instances: map[graph.ID][]graph.ID{definition: {teamSpace}},
			}).report(nil, nil)
			if len(r.Afterwards) != tc.later || len(r.Notes) != tc.notes || len(r.Kept) != 2 {
				t.Errorf("%d go afterwards, want %d; notes: %q, kept: %+v", len(r.Afterwards), tc.later, r.Notes, r.Kept)
			}
		})
	}
}
