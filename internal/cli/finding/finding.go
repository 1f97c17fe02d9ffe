// Package finding is what the subcommands that judge owner references report: one shape
// for programs, and one for people.
package finding

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/rules"
)

// Finding is one thing that is wrong with one object.
type Finding struct {
	Rule     rules.Rule       `json:"rule"`
	Severity explain.Severity `json:"severity"`
	Object   document.Object  `json:"object"`
	// Source is the file that the object is in, if it is in one.
	Source string `json:"source,omitempty"`
	// Reference is the owner reference that it is about, if it is about one.
	Reference *Reference `json:"reference,omitempty"`
	// Verdict is what the garbage collector decides on the object, or what becomes of the
	// request.
	Verdict string `json:"verdict"`
	// Latent says that nothing makes the collector look: it will when it restarts, at the
	// latest.
	Latent  bool        `json:"latent,omitempty"`
	Message string      `json:"message"`
	Fix     string      `json:"fix"`
	Patch   []Operation `json:"patch,omitempty"`
	// Fixed says that the patch was applied. What it did stands in the patch.
	Fixed bool `json:"fixed,omitempty"`
}

// Operation is one operation of a JSON patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Reference is an owner reference as a finding shows it.
type Reference struct {
	Index int `json:"index"`
	metav1.OwnerReference

	// Class is the row by which it was classified, if it was.
	Class rules.Rule `json:"class,omitempty"`
}

// ObjectOf names an object that a reference means or was found to be.
func ObjectOf(t explain.Target) document.Object { return document.Object(t) }

// Report is the outcome of an audit.
type Report struct {
	Findings   []Finding              `json:"findings"`
	Incomplete []inventory.Incomplete `json:"incomplete"`
	Summary    Summary                `json:"summary"`
}

// Summary counts the entries of a report.
type Summary struct {
	Error      int `json:"error"`
	Warning    int `json:"warning"`
	Info       int `json:"info"`
	Incomplete int `json:"incomplete"`
	// Fixed is how many of the findings were fixed.
	Fixed int `json:"fixed,omitempty"`
}

// NewReport sorts and counts. Gaps that several findings met are one gap.
func NewReport(findings []Finding, incomplete []inventory.Incomplete) Report {
	slices.SortStableFunc(findings, Compare)
	incomplete = slices.Clone(incomplete)
	slices.SortFunc(incomplete, inventory.Incomplete.Compare)
	incomplete = slices.CompactFunc(incomplete, func(a, b inventory.Incomplete) bool { return a.Resource == b.Resource })
	r := Report{Findings: findings, Incomplete: incomplete, Summary: Summary{Incomplete: len(incomplete)}}
	if r.Findings == nil {
		r.Findings = []Finding{}
	}
	if r.Incomplete == nil {
		r.Incomplete = []inventory.Incomplete{}
	}
	for i := range r.Findings {
		if r.Findings[i].Fixed {
			r.Summary.Fixed++
		}
		switch r.Findings[i].Severity {
		case explain.Error:
			r.Summary.Error++
		case explain.Warning:
			r.Summary.Warning++
		default:
			r.Summary.Info++
		}
	}
	return r
}

// Compare puts the worst first, then what belongs to one object together.
func Compare(a, b Finding) int {
	return cmp.Or(
		-cmp.Compare(a.Severity, b.Severity),
		cmp.Compare(a.Object.Kind, b.Object.Kind),
		cmp.Compare(a.Object.APIVersion, b.Object.APIVersion),
		cmp.Compare(a.Object.Namespace, b.Object.Namespace),
		cmp.Compare(a.Object.Name, b.Object.Name),
		cmp.Compare(a.index(), b.index()),
		cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.Message, b.Message),
	)
}

// done says what the patch did to the reference.
func (f Finding) done() string {
	for _, operation := range f.Patch {
		if ref, ok := operation.Value.(metav1.OwnerReference); ok && operation.Op == "replace" {
			return fmt.Sprintf("the reference is now %s %s %s, uid %s", ref.APIVersion, ref.Kind, ref.Name, ref.UID)
		}
	}
	return "the reference was dropped"
}

// String is the summary for people.
func (s Summary) String() string {
	text := fmt.Sprintf("%d error, %d warning, %d info, %d incomplete", s.Error, s.Warning, s.Info, s.Incomplete)
	if s.Fixed > 0 {
		text += fmt.Sprintf(", %d fixed", s.Fixed)
	}
	return text
}

func (f Finding) index() int {
	if f.Reference == nil {
		return -1
	}
	return f.Reference.Index
}

// Worthy reports whether there is more than information.
func (r Report) Worthy() bool { return r.Summary.Error+r.Summary.Warning > 0 }
