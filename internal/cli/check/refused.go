package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"labhub.io/teamspace/internal/cli/finding"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/rules"
)

// refused is what the API server itself would say to the references and finalizers of a
// manifest, in its own words: such an object never reaches a webhook.
func refused(m manifest) []finding.Finding {
	path := field.NewPath("metadata")
	errors := validation.ValidateOwnerReferences(m.OwnerReferences, path.Child("ownerReferences"))
	errors = append(errors, validation.ValidateFinalizers(m.Finalizers, path.Child("finalizers"))...)
	errors = append(errors, unqualified(m, path.Child("finalizers"))...)
	var found []finding.Finding
	for _, err := range errors {
		f := m.finding(rowOf(err), explain.Error, "refuse", err.Error(), fixes[rowOf(err)])
		for i := range m.OwnerReferences {
			if strings.HasPrefix(err.Field+".", fmt.Sprintf("metadata.ownerReferences[%d].", i)) {
				f.Reference = &finding.Reference{Index: i, OwnerReference: m.OwnerReferences[i]}
			}
		}
		found = append(found, f)
	}
	return found
}

// Rows of what the API server refuses, or does on its own account.
const (
	ruleEmpty       rules.Rule = "V1"
	ruleVersion     rules.Rule = "V2"
	ruleEvent       rules.Rule = "V3"
	ruleControllers rules.Rule = "V4"
	ruleTwice       rules.Rule = "V5"
	ruleFinalizer   rules.Rule = "V6"
	ruleBoth        rules.Rule = "F13"
)

var fixes = map[rules.Rule]string{
	ruleEmpty:       "fill in apiVersion, kind, name and uid of an owner that exists, or drop the reference",
	ruleVersion:     "write <group>/<version>, or the version alone for the core group",
	ruleEvent:       "an Event owns nothing: drop the reference",
	ruleControllers: "set controller of one reference only",
	ruleFinalizer:   "use a name of the form <domain>/<name>",
	ruleBoth:        "choose one of the two",
}

// rowOf finds the row of an error by the field that it is about.
func rowOf(err *field.Error) rules.Rule {
	switch {
	case err.Field == "metadata.finalizers" && strings.Contains(err.Detail, "cannot be both set"):
		return ruleBoth
	case strings.HasPrefix(err.Field, "metadata.finalizers"):
		return ruleFinalizer
	case err.Type == field.ErrorTypeRequired:
		return ruleEmpty
	case err.Field == "metadata.ownerReferences":
		return ruleControllers
	case strings.HasSuffix(err.Field, ".apiVersion"):
		return ruleVersion
	default:
		return ruleEvent
	}
}

// unqualified are finalizers that only custom resources may have: those of built-in types
// are known, or bear a domain.
func unqualified(m manifest, path *field.Path) field.ErrorList {
	known := []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents, "kubernetes"}
	var errors field.ErrorList
	for i, name := range m.Finalizers {
		if rules.BuiltInGroup(m.APIVersion) && !strings.Contains(name, "/") && !slices.Contains(known, name) {
			errors = append(errors, field.Invalid(path.Index(i), name, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errors
}

// dropTwins drops the entries that are there twice to the letter, as the API server does,
// and says so.
func (m *manifest) dropTwins() []finding.Finding {
	var found []finding.Finding
	var kept []metav1.OwnerReference
	for i, ref := range m.OwnerReferences {
		if !slices.ContainsFunc(kept, func(k metav1.OwnerReference) bool { return same(k, ref) }) {
			kept = append(kept, ref)
			continue
		}
		f := m.finding(ruleTwice, explain.Info, "allow",
			fmt.Sprintf("metadata.ownerReferences[%d]: the same entry is there before; the API server drops it", i), "drop it")
		f.Reference = &finding.Reference{Index: i, OwnerReference: ref}
		found = append(found, f)
	}
	m.OwnerReferences = kept
	return found
}

func same(a, b metav1.OwnerReference) bool {
	is := func(v *bool) string {
		return cmp.Or(map[bool]string{true: "unset"}[v == nil], fmt.Sprint(v != nil && *v))
	}
	return a.APIVersion == b.APIVersion && a.Kind == b.Kind && a.Name == b.Name && a.UID == b.UID &&
		is(a.Controller) == is(b.Controller) && is(a.BlockOwnerDeletion) == is(b.BlockOwnerDeletion)
}

// finding is one about this manifest.
func (m *manifest) finding(rule rules.Rule, severity explain.Severity, verdict, message, fix string) finding.Finding {
	object := finding.ObjectOf(inventory.TargetOf(&m.PartialObjectMetadata))
	object.Name = cmp.Or(object.Name, m.GenerateName)
	return finding.Finding{
		Rule: rule, Severity: severity, Object: object, Source: m.source, Verdict: verdict, Message: message, Fix: fix,
	}
}
