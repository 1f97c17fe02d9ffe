package audit

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"labhub.io/teamspace/internal/cli/finding"
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
			failed = append(failed, fmt.Errorf("fixing %s: %w", same[0].Object, err))
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
		return err
	}
	var to metadata.ResourceInterface = objects.Resource(o.resource)
	if o.Namespace != "" {
		to = objects.Resource(o.resource).Namespace(o.Namespace)
	}
	_, err = to.Patch(ctx, o.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	return err
}
