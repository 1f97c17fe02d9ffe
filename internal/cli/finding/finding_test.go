package finding

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/explain"
)

// TestReport: counts are those of the lists, whatever is in them, and an empty list is one.
func TestReport(t *testing.T) {
	gap := inventory.Incomplete{Resource: "x", Reason: "boom"}
	r := NewReport([]Finding{{Severity: explain.Info}, {Severity: explain.Error}, {Severity: explain.Warning}, {Severity: explain.Error}},
		[]inventory.Incomplete{gap, gap, {Resource: "a"}})
	if want := (Summary{Error: 2, Warning: 1, Info: 1, Incomplete: 2}); r.Summary != want {
		t.Errorf("got %+v, want %+v", r.Summary, want)
	}
	if r.Findings[0].Severity != explain.Error || r.Findings[3].Severity != explain.Info || r.Incomplete[0].Resource != "a" {
		t.Errorf("not sorted: %+v", r)
	}
	var text bytes.Buffer
	NewReport(nil, []inventory.Incomplete{{Resource: "pods", Reason: "pods is forbidden"}, {Resource: "v1.x", Reason: "no answer"}}).Print(&text)
	if want := "unknown     pods is forbidden\nunknown     v1.x: no answer\n\n0 error, 0 warning, 0 info, 2 incomplete\n"; text.String() != want {
		t.Errorf("printed %q", text.String())
	}
	empty, err := json.Marshal(NewReport(nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"findings":[],"incomplete":[],"summary":{"error":0,"warning":0,"info":0,"incomplete":0}}`; string(empty) != want {
		t.Errorf("got %s", empty)
	}
	var out bytes.Buffer
	NewReport(nil, nil).Print(&out)
	if want := "0 error, 0 warning, 0 info, 0 incomplete\n"; out.String() != want {
		t.Errorf("got %q", out.String())
	}
}

// TestReport_Fixed: what was fixed says how, and is counted.
func TestReport_Fixed(t *testing.T) {
	ref := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "o", UID: "new"}
	var out bytes.Buffer
	r := NewReport([]Finding{
		{Severity: explain.Error, Rule: "R11", Fixed: true, Patch: []Operation{{Op: "test", Value: metav1.OwnerReference{UID: "old"}}, {Op: "replace", Value: ref}}},
		{Severity: explain.Error, Rule: "R13", Fixed: true, Patch: []Operation{{Op: "test", Value: ref}, {Op: "remove"}}},
		{Severity: explain.Warning, Rule: "R16", Patch: []Operation{{Op: "remove"}}},
	}, nil)
	r.Print(&out)
	for _, line := range []string{
		"        fixed: the reference is now v1 ConfigMap o, uid new\n", "        fixed: the reference was dropped\n",
		"\n2 error, 1 warning, 0 info, 0 incomplete, 2 fixed\n",
	} {
		if strings.Count(out.String(), line) != 1 {
			t.Errorf("%q is not there once in %s", line, &out)
		}
	}
	if r.Summary.Fixed != 2 {
		t.Errorf("counted %d", r.Summary.Fixed)
	}
}
