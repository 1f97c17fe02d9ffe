package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

// auditPolicy logs each request once, when it is answered, and a watch also when it
// begins.
const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}`

// AuditEvent is a line of the API server's audit log, as far as tests look at it.
type AuditEvent struct {
	Stage      string    `json:"stage"`
	Verb       string    `json:"verb"`
	RequestURI string    `json:"requestURI"`
	Time       time.Time `json:"stageTimestamp"`
	User       struct {
		Name  string              `json:"username"`
		Extra map[string][]string `json:"extra"`
	} `json:"user"`
	Object struct {
		Resource    string `json:"resource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		APIGroup    string `json:"apiGroup"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	Annotations map[string]string `json:"annotations"`
	Response    struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// String tells what was asked, and how it was answered.
func (e AuditEvent) String() string {
	return fmt.Sprintf("%s %s %s %d", e.Time.Format(time.StampMicro), e.Verb, e.RequestURI, e.Response.Code)
}

// Writes says whether the request was meant to change something.
func (e AuditEvent) Writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb)
}

// AuditEvents returns what the API server has answered so far and the filter lets
// through, in the order of the log.
func (w *World) AuditEvents(t testing.TB, filter func(AuditEvent) bool) []AuditEvent {
	t.Helper()
	text, err := os.ReadFile(w.auditLog())
	if err != nil {
		t.Fatal(err)
	}
	// A line that is being written has no end yet.
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	var events []AuditEvent
	for line := range bytes.Lines(text) {
		var event AuditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatalf("reading the audit log: %v\n%s", err, line)
		}
		if filter(event) {
			events = append(events, event)
		}
	}
	return events
}

// AwaitQuiet waits until a user has written nothing for a while, leases apart. It
// reads the time off the audit log: somebody else's later request shows that the
// while is over.
func (w *World) AwaitQuiet(t testing.TB, user string, while, within time.Duration) {
	t.Helper()
	Eventually(t, within, fmt.Sprintf("%s is quiet for %s", user, while), func() error {
		var last AuditEvent
		var now time.Time
		w.AuditEvents(t, func(e AuditEvent) bool {
			now = e.Time
			if e.User.Name == user && e.Writes() && e.Object.Resource != "leases" {
				last = e
			}
			return false
		})
		if now.Sub(last.Time) < while {
			return fmt.Errorf("the last request is of %s", last)
		}
		return nil
	})
}
