// Package teamspace holds the webhooks of TeamSpace itself: the one puts the cleanup
// finalizer on it, the other warns of changes that are allowed and seldom meant.
//
// Both fail open. The controller adds the finalizer itself before it makes anything,
// and what a TeamSpace may say is checked by the rules of its type, in the API server.
package teamspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"labhub.io/teamspace/api/v1alpha1"
)

// DefaultPath is where the API server finds the defaulter.
const DefaultPath = "/teamspaces/default"

const finalizersPath = "/metadata/finalizers"

// Defaulter puts our finalizer behind whatever is there, also when a request has left
// it out. It never touches a TeamSpace that is being deleted: the API server refuses
// new finalizers then, and the TeamSpace could never go.
type Defaulter struct{}

// NewDefaulter returns a Defaulter.
func NewDefaulter() *Defaulter { return &Defaulter{} }

// Handle implements admission.Handler. It reads the metadata and nothing else: a spec
// that does not fit its type is for the API server to refuse, which comes later and
// names the field. For the same reason it answers with a patch of its own, and not with
// the difference of two decoded objects.
func (*Defaulter) Handle(_ context.Context, review admission.Request) admission.Response {
	var now, before metav1.PartialObjectMetadata
	if err := errors.Join(read(review.Object, &now), read(review.OldObject, &before)); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if !now.DeletionTimestamp.IsZero() || slices.Contains(now.Finalizers, v1alpha1.Finalizer) {
		return admission.Allowed("")
	}
	response := admission.Patched("", addFinalizer(now.Finalizers))
	if slices.Contains(before.Finalizers, v1alpha1.Finalizer) {
		response.Warnings = []string{"finalizer " + v1alpha1.Finalizer + " was dropped and has been put back: without it the TeamSpace would go unarchived; delete the TeamSpace to be rid of it"}
	}
	return response
}

func addFinalizer(present []string) jsonpatch.JsonPatchOperation {
	if len(present) == 0 {
		return jsonpatch.NewOperation("add", finalizersPath, []string{v1alpha1.Finalizer})
	}
	return jsonpatch.NewOperation("add", finalizersPath+"/-", v1alpha1.Finalizer)
}

// read decodes what a review holds; nothing, if it holds nothing.
func read(raw runtime.RawExtension, into any) error {
	if len(raw.Raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw.Raw, into); err != nil {
		return fmt.Errorf("reading the TeamSpace: %w", err)
	}
	return nil
}
