// Package teamspace holds the webhooks of TeamSpace itself: the one puts the cleanup
// finalizer on it, the other warns of changes that are allowed and seldom meant.
//
// Both fail open. The controller adds the finalizer itself before it makes anything,
// and what a TeamSpace may say is checked by the rules of its type, in the API server.
package teamspace

import (
	"context"
	"net/http"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
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
type Defaulter struct{ decoder admission.Decoder }

// NewDefaulter returns a Defaulter.
func NewDefaulter(scheme *runtime.Scheme) *Defaulter {
	return &Defaulter{decoder: admission.NewDecoder(scheme)}
}

// Handle implements admission.Handler. It answers with a patch of its own, and not
// with the difference of two decoded objects, so that nothing else of what the user
// wrote can change its spelling.
func (d *Defaulter) Handle(_ context.Context, review admission.Request) admission.Response {
	now, before, err := decode(d.decoder, review)
	if err != nil {
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

// decode reads the TeamSpace and what it was before; an empty one on create.
func decode(decoder admission.Decoder, review admission.Request) (now, before v1alpha1.TeamSpace, err error) {
	if err := decoder.DecodeRaw(review.Object, &now); err != nil {
		return now, before, err
	}
	if len(review.OldObject.Raw) > 0 {
		err = decoder.DecodeRaw(review.OldObject, &before)
	}
	return now, before, err
}
