package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/internal/cli/finding"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// edit is what mends one reference: it goes, or another takes its place.
type edit struct {
	index       int
	replacement *metav1.OwnerReference
}

// editFor chooses what mends a problem, if anything surely does. To drop a reference is
// always safe; another owner is written only where the reference means it beyond doubt,
// and never bound to an object whose loss would cost data.
func (l live) editFor(p explain.Problem) (edit, bool) {
	ref := l.references[p.Index]
	drop := edit{index: p.Index}
	switch {
	case !l.DeletionTimestamp.IsZero():
		return edit{}, false
	case p.Rule == rules.R16:
		return edit{index: l.wrongTwin(p.Index)}, true
	case p.Rule == rules.R06:
		return l.rewrite(p.Index)
	case p.Rule == rules.R15:
		if e, ok := l.rewrite(p.Index); ok {
			return e, true
		}
		return drop, true
	case p.Rule == rules.R11 && ref.Found != nil && ref.Found.UID != "" && !l.precious():
		right := ref.OwnerReference
		right.UID = ref.Found.UID
		return edit{index: p.Index, replacement: &right}, true
	case slices.Contains([]rules.Rule{rules.R05, rules.R08, rules.R11, rules.R13, rules.R18, rules.F5, rules.F6}, p.Rule):
		return drop, true
	default:
		return edit{}, false
	}
}

// precious are the kinds that hold more than themselves.
func (l live) precious() bool {
	switch (schema.GroupKind{Group: l.resource.Group, Kind: l.Kind}) {
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}, schema.GroupKind{Kind: "PersistentVolume"},
		schema.GroupKind{Kind: "Namespace"}, schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return true
	default:
		return false
	}
}

// rewrite writes the reference as the object that has its uid, if that can be its owner and
// nothing is lost by it.
func (l live) rewrite(index int) (edit, bool) {
	ref := l.references[index]
	owner := ref.Elsewhere
	if owner == nil || l.precious() {
		return edit{}, false
	}
	where, ok := rules.Where(l.Namespace, graph.Type{Namespaced: owner.Namespace != ""})
	if !ok || where != owner.Namespace {
		return edit{}, false
	}
	right := ref.OwnerReference
	right.APIVersion, right.Kind, right.Name = owner.APIVersion, owner.Kind, owner.Name
	return edit{index: index, replacement: &right}, true
}

// wrongTwin is the entry to drop of those that share a uid with this one: a wrong one, or
// if all are right the later.
func (l live) wrongTwin(index int) int {
	if l.references[index].Class != rules.Solid {
		return index
	}
	for i := range index {
		if l.references[i].UID == l.references[index].UID && l.references[i].Class != rules.Solid {
			return i
		}
	}
	return index
}

// fix is the sentence of what to do, and of what the patch does where there is one.
func (l live) fix(p explain.Problem, patched bool) string {
	if l.goes(p) {
		return fmt.Sprintf("it is being deleted already, and not the reference but what holds it is the matter: %s", l.explainCommand())
	}
	advice, saysAll := l.advice(p)
	e, ok := l.editFor(p)
	if !patched || !ok || saysAll {
		return advice
	}
	does := e.does(l.references[e.index].OwnerReference)
	if e.index != p.Index {
		does += fmt.Sprintf(" (ownerReferences[%d])", e.index)
	}
	return advice + "; the patch " + does
}

// goes reports whether an object is being deleted, whatever becomes of a reference: unless
// that blocks its own deletion.
func (l live) goes(p explain.Problem) bool {
	return !l.DeletionTimestamp.IsZero() && p.Rule != rules.F6 && p.Rule != rules.F7
}

// explainCommand is how to ask what holds the object.
func (l live) explainCommand() string {
	command := fmt.Sprintf("kubectl teamspace explain %s/%s", l.resource.GroupResource(), l.Name)
	if l.Namespace != "" {
		command += " -n " + l.Namespace
	}
	return command
}

// does is what an edit makes of the reference that is there.
func (e edit) does(was metav1.OwnerReference) string {
	switch {
	case e.replacement == nil:
		return "drops the reference"
	case e.replacement.UID != was.UID:
		return fmt.Sprintf("writes uid %s", e.replacement.UID)
	default:
		return fmt.Sprintf("writes %s %s %s", e.replacement.APIVersion, e.replacement.Kind, e.replacement.Name)
	}
}

// advice is what somebody may do about a problem, and whether that is what the patch does.
func (l live) advice(p explain.Problem) (text string, saysAll bool) {
	ref := l.references[p.Index]
	again := p.Rule == rules.R11 && ref.Found != nil && ref.Found.UID != "" // the owner was made again
	switch e, ok := l.rewrite(p.Index); {
	case again && l.Kind == "Namespace" && isTeamSpace(ref):
		return fmt.Sprintf("the TeamSpace was made again: drop the reference, which keeps the namespace and which TeamSpace's controller does as soon as it runs, and let the new one adopt it: kubectl annotate namespace %s %s=%s",
			l.Name, v1alpha1.AnnotationAdopt, ref.Name), true
	case again && l.precious():
		return fmt.Sprintf("drop the reference, or write uid %s if this %s shall go with its owner", ref.Found.UID, l.Kind), false
	case p.Rule == rules.R06 && ok:
		return fmt.Sprintf("write %s %s, which has this uid", e.replacement.APIVersion, e.replacement.Kind), true
	default:
		return p.Fix, p.Fix == "drop the reference"
	}
}

func isTeamSpace(ref explain.Reference) bool {
	return ref.Mapping.Type.GroupKind() == v1alpha1.GroupVersion.WithKind("TeamSpace").GroupKind()
}

// patch returns the operations that make the edits, and tests before that the object and
// the references are still those that were looked at.
func (l live) patch(edits ...edit) []finding.Operation {
	edits = slices.Clone(edits)
	// From the end, so that no edit moves what another one means; of several edits of one
	// reference the first stands.
	slices.SortStableFunc(edits, func(a, b edit) int { return -cmp.Compare(a.index, b.index) })
	edits = slices.CompactFunc(edits, func(a, b edit) bool { return a.index == b.index })
	operations := []finding.Operation{test("/metadata/uid", l.UID)}
	for _, e := range edits {
		operations = append(operations, test(path(e), l.references[e.index].OwnerReference))
	}
	for _, e := range edits {
		if e.replacement != nil {
			operations = append(operations, finding.Operation{Op: "replace", Path: path(e), Value: *e.replacement})
			continue
		}
		operations = append(operations, finding.Operation{Op: "remove", Path: path(e)})
	}
	return operations
}

// test is the operation that lets a patch fail unless a value is what it was.
func test(path string, value any) finding.Operation {
	return finding.Operation{Op: "test", Path: path, Value: value}
}

func path(e edit) string { return fmt.Sprintf("/metadata/ownerReferences/%d", e.index) }

// command is the patch that makes the edits as a line of a shell.
func (l live) command(edits []edit) (string, error) {
	patch, err := json.Marshal(l.patch(edits...))
	if err != nil {
		return "", fmt.Errorf("encoding the patch of %s %q: %w", l.Kind, l.Name, err)
	}
	words := []string{"kubectl", "patch", l.resource.GroupResource().String(), l.Name}
	if l.Namespace != "" {
		words = append(words, "-n", l.Namespace)
	}
	return strings.Join(append(words, "--type=json", "-p", quote(string(patch))), " "), nil
}

// byObject are the findings that have a patch, by the object that it is of.
func byObject(found []fixable) map[types.UID][]*fixable {
	together := map[types.UID][]*fixable{}
	for i := range found {
		if f := &found[i]; len(f.Patch) > 0 {
			together[f.Object.UID] = append(together[f.Object.UID], f)
		}
	}
	return together
}

func editsOf(found []*fixable) []edit {
	edits := make([]edit, len(found))
	for i, f := range found {
		edits[i] = f.edit
	}
	return edits
}

// quote makes one word of a text, for any POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
