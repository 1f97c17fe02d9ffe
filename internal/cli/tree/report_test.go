package tree

import (
	"encoding/json"
	"strings"
	"testing"

	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/ownership/rules"
)

// of is the tree of the first object of a scenario.
func of(s *ownershiptest.Scenario) walker {
	return walker{graph: s.Graph, present: rules.Predict(s.Graph)}
}

func TestGolden(t *testing.T) {
	ownershiptest.Golden(t, "testdata/*.txt", func(s *ownershiptest.Scenario) string {
		var out strings.Builder
		w := of(s)
		if err := w.print(&out, 0); err != nil {
			t.Fatal(err)
		}
		if err := printDot(&out, w.report(0, nil)); err != nil {
			t.Fatal(err)
		}
		return out.String()
	})
}

func TestReport(t *testing.T) {
	s, err := ownershiptest.Parse(`
		Widget a/w
		ConfigMap a/c -> Widget w +c; Widget ghost =none
		Secret a/unrelated`)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(of(s).report(0, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"object":{"apiVersion":"acme.example/v1","kind":"Widget","namespace":"a","name":"w","uid":"Widget/a/w"}`,
		`"reference":{"index":0,"apiVersion":"acme.example/v1","kind":"Widget","name":"w","uid":"Widget/a/w","controller":true,"class":"K8","word":"solid"}`,
		`"incomplete":[]`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the document lacks %s:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "unrelated") {
		t.Errorf("what has nothing to do with the object is in its tree: %s", text)
	}
}
