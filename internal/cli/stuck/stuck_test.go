package stuck

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/teamspace/internal/cli/access"
	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/ownershiptest"
)

func object(kind, namespace, name string) document.Object {
	return document.Object{APIVersion: "v1", Kind: kind, Namespace: namespace, Name: name}
}

func TestReport_Lines(t *testing.T) {
	site := Item{Object: object("Site", "a", "delta"), Finalizers: []string{"foregroundDeletion"}}
	child := Item{Object: object("ConfigMap", "a", "delta-1"), Finalizers: []string{"z/hold", "b/hold"}}
	blocker := Blocker{Object: child.Object, Owner: site.Object, Finalizers: child.Finalizers}
	role := Blocker{Object: object("ClusterRole", "", "r"), Owner: site.Object, Finalizers: []string{}}
	failed := []inventory.Incomplete{{Resource: "widgets", Reason: "forbidden"}}
	for name, tc := range map[string]struct {
		report     *Report
		namespaced bool
		want       []string
	}{
		"nothing":                            {newReport(nil, nil, nil), true, []string{"NONE"}},
		"nothing, but not everything read":   {newReport(nil, nil, failed), true, nil},
		"finalizers stay in stored order":    {newReport([]Item{child}, nil, nil), false, []string{"STUCK ConfigMap/delta-1 finalizers=z/hold,b/hold"}},
		"no finalizers":                      {newReport([]Item{{Object: object("Pod", "a", "p")}}, nil, nil), false, []string{"STUCK Pod/p finalizers="}},
		"a namespace tells its own and spec": {newReport([]Item{{Object: object("Namespace", "", "n"), Finalizers: []string{"a/b", "kubernetes"}}}, nil, nil), true, []string{"STUCK Namespace/n finalizers=a/b,kubernetes"}},
		"sorted, in one namespace": {newReport([]Item{site, child}, []Blocker{role, blocker}, nil), false, []string{
			"BLOCKER ClusterRole/r owner=Site/delta finalizers=",
			"BLOCKER ConfigMap/delta-1 owner=Site/delta finalizers=z/hold,b/hold",
			"STUCK ConfigMap/delta-1 finalizers=z/hold,b/hold",
			"STUCK Site/delta finalizers=foregroundDeletion",
		}},
		"with namespaces": {newReport([]Item{site}, []Blocker{role, blocker}, failed), true, []string{
			"BLOCKER ClusterRole/r owner=Site/a/delta finalizers=",
			"BLOCKER ConfigMap/a/delta-1 owner=Site/a/delta finalizers=z/hold,b/hold",
			"STUCK Site/a/delta finalizers=foregroundDeletion",
		}},
		"one line for each reference": {newReport(nil, []Blocker{role, role}, nil), false, []string{
			"BLOCKER ClusterRole/r owner=Site/delta finalizers=", "BLOCKER ClusterRole/r owner=Site/delta finalizers=",
		}},
		"bytewise, not as a dictionary has it": {newReport([]Item{{Object: object("a", "", "x")}, {Object: object("B", "", "x")}}, nil, nil), false, []string{
			"STUCK B/x finalizers=", "STUCK a/x finalizers=",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.report.lines(tc.namespaced); !slices.Equal(got, tc.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

// TestReport_Document: empty lists are lists, and the summary counts them.
func TestReport_Document(t *testing.T) {
	text, err := json.Marshal(newReport(nil, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"stuck":[],"blockers":[],"incomplete":[],"summary":{"stuck":0,"blockers":0,"incomplete":0}}`
	if string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

func widgets() access.Type {
	return access.Type{
		Resource:   schema.GroupVersionResource{Group: "acme.example", Version: "v1", Resource: "widgets"},
		Kind:       schema.GroupVersionKind{Group: "acme.example", Version: "v1", Kind: "Widget"},
		Namespaced: true,
	}
}

func namespaces() access.Type {
	return access.Type{Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Kind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}}
}

func TestScope_Candidates(t *testing.T) {
	s, err := ownershiptest.Parse(`
		Widget a/w dying [x/y]
		Widget:acme.example/v1beta1 b/old dying [x/y]
		Gadget a/g dying [x/y]
		Namespace n dying
		ClusterWidget cw dying
		Widget a/live`)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		scope scope
		want  string
	}{
		"everything":        {scope{}, "w old g n cw"},
		"a namespace":       {scope{namespace: "a"}, "w g"},
		"another namespace": {scope{namespace: "c"}, ""},
		"a type, in whatever version it was listed":       {scope{types: []access.Type{widgets()}}, "w old"},
		"a type in a namespace":                           {scope{types: []access.Type{widgets()}, namespace: "b"}, "old"},
		"a cluster-scoped type that was named":            {scope{types: []access.Type{namespaces()}, namespace: "a"}, "n"},
		"two types":                                       {scope{types: []access.Type{namespaces(), widgets()}}, "w old n"},
		"a namespace does not hold what is in none of it": {scope{namespace: "n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			for _, id := range tc.scope.candidates(s.Graph) {
				names = append(names, s.Graph.Name(id))
			}
			if got := strings.Join(names, " "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestScope_Matters(t *testing.T) {
	widgetList := inventory.Incomplete{Resource: "widgets.acme.example"}
	silent := inventory.Incomplete{Resource: "v1.acme.example"}
	secrets := inventory.Incomplete{Resource: "secrets"}
	elsewhere := inventory.Incomplete{Resource: "secrets", Elsewhere: true}
	typed := scope{types: []access.Type{widgets()}}
	for name, tc := range map[string]struct {
		scope      scope
		incomplete inventory.Incomplete
		foreground bool
		want       bool
	}{
		"all types: everything matters":                         {scope{}, secrets, false, true},
		"another type":                                          {typed, secrets, false, false},
		"another type may hold a blocker":                       {typed, secrets, true, true},
		"the type itself":                                       {typed, widgetList, false, true},
		"the server of its group":                               {typed, silent, false, true},
		"somewhere else":                                        {scope{namespace: "a"}, elsewhere, false, false},
		"somewhere else may be a blocker":                       {scope{namespace: "a"}, elsewhere, true, true},
		"somewhere else is part of everything":                  {scope{}, elsewhere, false, true},
		"what the namespace holds of it could not be read also": {scope{namespace: "a"}, secrets, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.scope.matters(tc.incomplete, tc.foreground); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestIsStuck(t *testing.T) {
	s, err := ownershiptest.Parse("Pod a/p dying\nWidget a/w dying")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2030, time.May, 4, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		id      graph.ID
		deleted time.Duration // from now
		want    bool
	}{
		"a pod within its grace period": {0, 20 * time.Second, false},
		"a pod after it":                {0, -time.Second, true},
		"anything else at once":         {1, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			at := metav1.NewTime(now.Add(tc.deleted))
			look := access.Look{ID: tc.id, Found: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &at}}}
			if got := isStuck(s.Graph, look, now); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
	if isStuck(s.Graph, access.Look{ID: 1, Found: &metav1.PartialObjectMetadata{}}, now) {
		t.Error("what is not being deleted is stuck")
	}
}

// TestBlockersIn: only what blocks now counts, whatever the survey has seen.
func TestBlockersIn(t *testing.T) {
	s, err := ownershiptest.Parse("Widget a/w dying [fg]\nWidget a/free\nConfigMap a/c -> Widget w +b")
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	look := access.Look{ID: 2, Found: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
		{Name: "free", UID: "Widget/a/free", BlockOwnerDeletion: &yes},
		{Name: "w", UID: "Widget/a/w", BlockOwnerDeletion: &no},
		{Name: "w", UID: "Widget/a/w"},
		{Name: "w", UID: "Widget/a/w", BlockOwnerDeletion: &yes},
		{Name: "unknown", UID: "u", BlockOwnerDeletion: &yes},
	}}}}
	got := blockersIn(s.Graph, look, map[graph.ID]bool{0: true})
	if len(got) != 1 || got[0].Reference.Index != 3 || got[0].Owner.Name != "w" || got[0].Object.Name != "c" {
		t.Errorf("got %+v", got)
	}
}
