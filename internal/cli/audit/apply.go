package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/internal/cli/finding"
	"labhub.io/teamspace/ownership/explain"
)

// fieldManager is under whose name fixes are written.
const fieldManager = "kubectl-teamspace"

// apply applies the patches of a report, one for each object, and marks what is fixed. An
// object that was changed after it was looked at stays as it is. The errors say of which
// objects nothing was changed.
func apply(ctx context.Context, objects metadata.Interface, findings []fixable) []error {
	var failed []error
	together := byObject(findings)
	for i := range findings {
		same := together[findings[i].Object.UID]
		if len(same) == 0 {
			continue
		}
		delete(together, findings[i].Object.UID)
		if err := applyTo(ctx, objects, same); err != nil {
			failed = append(failed, fmt.Errorf("%s %w", same[0].Object, err))
			continue
		}
		for _, f := range same {
			f.Fixed = true
		}
	}
	return failed
}

// applyTo applies all fixes of one object at once, since each moves the others.
func applyTo(ctx context.Context, objects metadata.Interface, findings []*fixable) error {
	o := findings[0].object
	operations := append([]finding.Operation{test("/metadata/resourceVersion", o.ResourceVersion)}, o.patch(editsOf(findings)...)...)
	patch, err := json.Marshal(operations)
	if err != nil {
		return fmt.Errorf("has no patch: %w", err)
	}
	var to metadata.ResourceInterface = objects.Resource(o.resource)
	if o.Namespace != "" {
		to = objects.Resource(o.resource).Namespace(o.Namespace)
	}
	_, err = to.Patch(ctx, o.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	if err == nil {
		return nil
	}
	now, readErr := to.Get(ctx, o.Name, metav1.GetOptions{})
	if changed := o.meanwhile(now, readErr); changed != nil {
		return changed
	}
	return o.refused(editsOf(findings), err)
}

// What became of an object after it was looked at.
var (
	errGone      = errors.New("has gone since the audit looked at it: nothing is left to fix")
	errMadeAgain = errors.New("was made again since the audit looked at it: run the audit again")
	errChanged   = errors.New("was changed since the audit looked at it: run the audit again")
)

// meanwhile says whether an object is another one than was looked at, which is why its patch
// tests for that: nil if it is not, or could not be read.
func (l live) meanwhile(now *metav1.PartialObjectMetadata, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return errGone
	case err == nil && now.UID != l.UID:
		return errMadeAgain
	case err == nil && now.ResourceVersion != l.ResourceVersion:
		return errChanged
	default:
		return nil
	}
}

// refused says what helps where a patch is refused for what it is.
func (l live) refused(edits []edit, err error) error {
	for _, e := range edits {
		if ref := l.references[e.index]; apierrors.IsForbidden(err) && l.Kind == "Namespace" && isTeamSpace(ref) {
			return fmt.Errorf("keeps its reference, which only TeamSpace's controller may drop as long as the chart's policies are installed%s: %w", l.dropped(ref), err)
		}
	}
	return fmt.Errorf("could not be patched: %w", err)
}

// dropped says when the controller drops the reference of a namespace: it looks at the one
// that a TeamSpace of the name has.
func (l live) dropped(ref explain.Reference) string {
	switch {
	case l.Name != v1alpha1.NamespaceFor(ref.Name):
		return ""
	case ref.Found == nil:
		return "; it does so when there is a TeamSpace of this name again: kubectl teamspace restore " + ref.Name
	default:
		return "; it does so as soon as it runs: kubectl get deployments -A -l app.kubernetes.io/name=teamspace"
	}
}
