package teamspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"labhub.io/teamspace/api/v1alpha1"
)

// ensureFinalizer puts our finalizer behind whatever is there, before anything else
// of the TeamSpace exists.
func (r *Reconciler) ensureFinalizer(ctx context.Context, p *pass) (bool, error) {
	if controllerutil.ContainsFinalizer(p.ts, v1alpha1.Finalizer) {
		return true, nil
	}
	if err := r.patchFinalizers(ctx, p.ts, finalizerAdded(p.ts)); err != nil {
		return false, fmt.Errorf("adding finalizer %s to TeamSpace %q: %w", v1alpha1.Finalizer, p.ts.Name, err)
	}
	return true, nil
}

// removeFinalizer takes our finalizer away, and nobody else's. It is the last thing
// that a TeamSpace sees of us.
func (r *Reconciler) removeFinalizer(ctx context.Context, p *pass) (bool, error) {
	err := r.patchFinalizers(ctx, p.ts, finalizerRemoved(p.ts))
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("removing finalizer %s from TeamSpace %q: %w", v1alpha1.Finalizer, p.ts.Name, err)
	}
	return true, nil
}

func (r *Reconciler) patchFinalizers(ctx context.Context, ts *v1alpha1.TeamSpace, operations []jsonPatchOperation) error {
	data, err := json.Marshal(operations)
	if err != nil {
		return err
	}
	err = r.Patch(ctx, ts, client.RawPatch(types.JSONPatchType, data), fieldOwner)
	if isFailedTest(err) {
		// Somebody has written since ts was read.
		return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("teamspaces").GroupResource(), ts.Name, err)
	}
	return err
}

// isFailedTest tells a test of a JSON patch that did not hold from an object that the
// API server or a policy finds invalid: only the latter says what is wrong with it.
func isFailedTest(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || len(details.Causes) == 0
}

// jsonPatchOperation is one operation of RFC 6902.
type jsonPatchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

const finalizersPath = "/metadata/finalizers"

// finalizerAdded appends our finalizer. The test of the resourceVersion makes the
// server refuse it when anybody has written since, so that no list is replaced and
// none gets our finalizer twice.
func finalizerAdded(ts *v1alpha1.TeamSpace) []jsonPatchOperation {
	add := jsonPatchOperation{Op: "add", Path: finalizersPath + "/-", Value: v1alpha1.Finalizer}
	if len(ts.Finalizers) == 0 {
		add = jsonPatchOperation{Op: "add", Path: finalizersPath, Value: []string{v1alpha1.Finalizer}}
	}
	return []jsonPatchOperation{
		{Op: "test", Path: "/metadata/resourceVersion", Value: ts.ResourceVersion},
		add,
	}
}

// finalizerRemoved takes our entry out by its place, after a test that our entry is
// still in that place. Other finalizers may come and go meanwhile: either the place
// is right, or the server refuses and the next pass looks again.
func finalizerRemoved(ts *v1alpha1.TeamSpace) []jsonPatchOperation {
	path := fmt.Sprintf("%s/%d", finalizersPath, slices.Index(ts.Finalizers, v1alpha1.Finalizer))
	return []jsonPatchOperation{
		{Op: "test", Path: "/metadata/uid", Value: ts.UID},
		{Op: "test", Path: path, Value: v1alpha1.Finalizer},
		{Op: "remove", Path: path},
	}
}
