package audit

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/teamspace/internal/cli/finding"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/rules"
)

// Rows that only an audit reports; all others are those of package explain.
const (
	ruleClaimTemplate rules.Rule = "H3" // a claim template hands on references or finalizers
	ruleLost          rules.Rule = "N5" // the namespace of an object does not exist any more
)

// fixable is a finding together with the object as it was read, and the edit that its patch
// makes.
type fixable struct {
	finding.Finding

	object live
	edit   edit
}

// reportOf makes a report, and sorts the findings as it does.
func reportOf(found []fixable, incomplete []inventory.Incomplete) finding.Report {
	slices.SortStableFunc(found, func(a, b fixable) int { return finding.Compare(a.Finding, b.Finding) })
	findings := make([]finding.Finding, len(found))
	for i := range found {
		findings[i] = found[i].Finding
	}
	return finding.NewReport(findings, incomplete)
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
func (l live) findings() []fixable {
	subject := l.subject()
	decision := subject.Decision()
	var found []fixable
	for _, p := range explain.Problems(subject) {
		if p.Rule == rules.K5 || p.Rule == rules.K7 && subject.Deleting {
			continue
		}
		f := fixable{object: l, Finding: finding.Finding{
			Rule: p.Rule, Severity: l.severity(p), Object: finding.ObjectOf(subject.Target),
			Reference: l.reference(p.Index), Verdict: decision.Action.String(),
			Latent:  subject.Latent && (decision.Action == rules.Delete || decision.Action == rules.Prune),
			Message: p.Diagnosis() + unseen(l.resource),
		}}
		patched := f.Severity != explain.Info // what costs nothing may be meant
		f.Fix = l.fix(p, patched)
		if e, ok := l.editFor(p); ok && patched {
			f.edit, f.Patch = e, l.patch(e)
		}
		found = append(found, f)
	}
	return found
}

func (l live) reference(index int) *finding.Reference {
	ref := l.references[index]
	return &finding.Reference{Index: index, OwnerReference: ref.OwnerReference, Class: ref.Rule}
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
