package audit

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/rules"
)

// Rows that only an audit reports; all others are those of package explain.
const (
	ruleClaimTemplate rules.Rule = "H3" // a claim template hands on references or finalizers
	ruleLost          rules.Rule = "N5" // the namespace of an object does not exist any more
)

// Finding is one thing that is wrong with one object.
type Finding struct {
	Rule     rules.Rule       `json:"rule"`
	Severity explain.Severity `json:"severity"`
	Object   explain.Target   `json:"object"`
	// Reference is the owner reference that it is about, if it is about one.
	Reference *Reference `json:"reference,omitempty"`
	// Verdict is what the garbage collector decides on the object.
	Verdict string `json:"verdict"`
	// Latent says that nothing makes the collector look: it will when it restarts, at the
	// latest.
	Latent  bool        `json:"latent,omitempty"`
	Message string      `json:"message"`
	Fix     string      `json:"fix"`
	Patch   []Operation `json:"patch,omitempty"`
	// Fixed says that the patch was applied.
	Fixed bool `json:"fixed,omitempty"`

	object live
	edit   edit
}

// Reference is an owner reference as a finding shows it.
type Reference struct {
	Index int `json:"index"`
	metav1.OwnerReference

	// Class is the row by which it was classified.
	Class rules.Rule `json:"class"`
}

// live is an object as it was read to confirm a finding.
type live struct {
	metav1.PartialObjectMetadata

	resource    schema.GroupVersionResource
	references  []explain.Reference
	unmonitored bool
	// settled says that nobody has changed the object lately: whatever the collector was
	// going to do, it has had the time to.
	settled bool
}

func (l live) subject() explain.Subject {
	return explain.Subject{
		Target: inventory.TargetOf(&l.PartialObjectMetadata), References: l.references,
		Deleting: !l.DeletionTimestamp.IsZero(), Unmonitored: l.unmonitored,
		Latent: l.settled,
	}
}

// findings are what is wrong with the references of the object. What could not be read is
// none: that is a gap of the audit. Nor is an owner in foreground deletion, to what goes
// with it already.
func (l live) findings() []Finding {
	subject := l.subject()
	decision := subject.Decision()
	var found []Finding
	for _, p := range explain.Problems(subject) {
		if p.Rule == rules.K5 || p.Rule == rules.K7 && subject.Deleting {
			continue
		}
		f := Finding{
			Rule: p.Rule, Severity: l.severity(p), Object: subject.Target,
			Reference: l.reference(p.Index), Verdict: decision.Action.String(),
			Latent:  subject.Latent && (decision.Action == rules.Delete || decision.Action == rules.Prune),
			Message: p.Diagnosis() + unseen(l.resource), Fix: l.fix(p), object: l,
		}
		if e, ok := l.editFor(p); ok && f.Severity != explain.Info { // what costs nothing may be meant
			f.edit, f.Patch = e, l.patch(e)
		}
		found = append(found, f)
	}
	return found
}

func (l live) reference(index int) *Reference {
	ref := l.references[index]
	return &Reference{Index: index, OwnerReference: ref.OwnerReference, Class: ref.Rule}
}

// severity is that of the problem, except where the loss is none: a kubelet makes its
// Lease again (C48).
func (l live) severity(p explain.Problem) explain.Severity {
	if l.Kind == "Lease" && l.Namespace == "kube-node-lease" {
		return explain.Info
	}
	return p.Severity
}

// unseen says of the kinds that are shown to no webhook that nothing stops such a
// reference (H1).
func unseen(resource schema.GroupVersionResource) string {
	if resource.Group != "admissionregistration.k8s.io" {
		return ""
	}
	return "; no admission webhook is ever shown objects of this kind (H1)"
}

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
}

// newReport sorts and counts. Gaps that several findings met are one gap.
func newReport(findings []Finding, incomplete []inventory.Incomplete) Report {
	slices.SortStableFunc(findings, compare)
	incomplete = slices.Clone(incomplete)
	slices.SortFunc(incomplete, func(a, b inventory.Incomplete) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Reason, b.Reason))
	})
	incomplete = slices.CompactFunc(incomplete, func(a, b inventory.Incomplete) bool { return a.Resource == b.Resource })
	r := Report{Findings: findings, Incomplete: incomplete, Summary: Summary{Incomplete: len(incomplete)}}
	if r.Findings == nil {
		r.Findings = []Finding{}
	}
	if r.Incomplete == nil {
		r.Incomplete = []inventory.Incomplete{}
	}
	for i := range r.Findings {
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

// compare puts the worst first, then what belongs to one object together.
func compare(a, b Finding) int {
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

func (f Finding) index() int {
	if f.Reference == nil {
		return -1
	}
	return f.Reference.Index
}

// worthy reports whether there is more than information.
func (r Report) worthy() bool { return r.Summary.Error+r.Summary.Warning > 0 }
