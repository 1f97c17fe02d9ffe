package drain

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/api/v1alpha1"
)

func TestDecide(t *testing.T) {
	now := metav1.Now()
	tests := map[string]struct {
		policy   Policy
		typeGoes bool
		deleted  bool
		held     bool
		want     action
	}{
		"orphan, served": {policy: Orphan, held: true, want: free},
		"orphan, its namespace may still be bound":      {policy: Orphan, want: free},
		"orphan, somebody deleted it":                   {policy: Orphan, deleted: true, held: true, want: letGo},
		"orphan, only others hold it":                   {policy: Orphan, deleted: true, want: leave},
		"orphan, the type goes, not yet the object":     {policy: Orphan, typeGoes: true, held: true, want: free},
		"orphan, the type goes, and the object":         {policy: Orphan, typeGoes: true, deleted: true, held: true, want: letGo},
		"delete, served":                                {policy: Delete, held: true, want: remove},
		"delete, nobody has looked at it":               {policy: Delete, want: remove},
		"delete, it is on its way":                      {policy: Delete, deleted: true, held: true, want: letGo},
		"delete, only others hold it":                   {policy: Delete, deleted: true, want: leave},
		"delete, but the type goes: teams are spared":   {policy: Delete, typeGoes: true, held: true, want: free},
		"delete, the type goes, without our finalizer":  {policy: Delete, typeGoes: true, want: free},
		"fail, it came after the question":              {policy: Fail, held: true, want: free},
		"fail, it came after the question and is going": {policy: Fail, deleted: true, held: true, want: letGo},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ts := &v1alpha1.TeamSpace{}
			if tc.deleted {
				ts.DeletionTimestamp = &now
			}
			ts.Finalizers = []string{"acme.example/other"}
			if tc.held {
				ts.Finalizers = append(ts.Finalizers, v1alpha1.Finalizer)
			}
			if got := decide(tc.policy, tc.typeGoes, ts); got != tc.want {
				t.Errorf("decide = %d, want %d", got, tc.want)
			}
		})
	}
}

func TestParsePolicy(t *testing.T) {
	for _, known := range []Policy{Fail, Orphan, Delete} {
		if got, err := ParsePolicy(string(known)); err != nil || got != known {
			t.Errorf("ParsePolicy(%q) = %q, %v", known, got, err)
		}
	}
	for _, unknown := range []string{"", "orphan", "Keep"} {
		if got, err := ParsePolicy(unknown); err == nil {
			t.Errorf("ParsePolicy(%q) = %q", unknown, got)
		}
	}
}

// TestRefusedError: a person reads it, and there may be thousands.
func TestRefusedError(t *testing.T) {
	few := (&RefusedError{TeamSpaces: []string{"alpha", "beta"}}).Error()
	for _, word := range []string{"alpha, beta)", "Orphan", "Delete", "nothing was changed"} {
		if !strings.Contains(few, word) {
			t.Errorf("%q does not say %q", few, word)
		}
	}
	many := (&RefusedError{TeamSpaces: strings.Fields(strings.Repeat("x ", 1000))}).Error()
	if !strings.Contains(many, "and 995 more") || len(many) > 500 {
		t.Errorf("a thousand of them: %q", many)
	}
}
