package finding

import (
	"bytes"
	"encoding/json"
	"testing"

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
