package teamspace

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"labhub.io/teamspace/api/v1alpha1"
)

// ValidatePath is where the API server finds the validator.
const ValidatePath = "/teamspaces/validate"

// Validator warns. What has to be refused is refused by the rules of the type, which
// hold with no webhook running.
type Validator struct{}

// NewValidator returns a Validator.
func NewValidator() *Validator { return &Validator{} }

// Handle implements admission.Handler.
func (*Validator) Handle(_ context.Context, review admission.Request) admission.Response {
	var now, before v1alpha1.TeamSpace
	if err := errors.Join(read(review.Object, &now), read(review.OldObject, &before)); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	return admission.Allowed("").WithWarnings(warnings(&now, &before)...)
}

// warnings lists what an update may do and seldom means to.
func warnings(now, before *v1alpha1.TeamSpace) []string {
	var found []string
	if dropped := droppedFinalizers(now, before); len(dropped) > 1 {
		found = append(found, fmt.Sprintf("this request drops %d finalizers of others at once (%s): was the list replaced by an older one?", len(dropped), strings.Join(dropped, ", ")))
	}
	if letGoUnrecorded(now, before) {
		found = append(found, fmt.Sprintf("this request takes off the finalizer %s before the record of TeamSpace %q is stored: it goes without one", v1alpha1.Finalizer, now.Name))
	}
	used := before.Status.Used
	if pods := used[corev1.ResourcePods]; pods.CmpInt64(int64(now.Spec.Pods)) > 0 && now.Spec.Pods < before.Spec.Pods {
		found = append(found, fmt.Sprintf("spec.pods %d is below the %s pods that run: they stay, and no new one is accepted", now.Spec.Pods, pods.String()))
	}
	if cpu := used[corev1.ResourceRequestsCPU]; lowersBelow(now.Spec.CPU, before.Spec.CPU, cpu) {
		found = append(found, fmt.Sprintf("spec.cpu %q is below the %s cpu that is requested: pods stay, and no new one is accepted", now.Spec.CPU, cpu.String()))
	}
	return found
}

// letGoUnrecorded says whether somebody does what the controller does only when the record
// was read back.
func letGoUnrecorded(now, before *v1alpha1.TeamSpace) bool {
	return !now.DeletionTimestamp.IsZero() &&
		slices.Contains(before.Finalizers, v1alpha1.Finalizer) && !slices.Contains(now.Finalizers, v1alpha1.Finalizer) &&
		!meta.IsStatusConditionTrue(before.Status.Conditions, v1alpha1.ConditionArchived)
}

func droppedFinalizers(now, before *v1alpha1.TeamSpace) []string {
	return slices.DeleteFunc(slices.Clone(before.Finalizers), func(finalizer string) bool {
		return finalizer == v1alpha1.Finalizer || slices.Contains(now.Finalizers, finalizer)
	})
}

func lowersBelow(now, before string, used resource.Quantity) bool {
	n, errNow := resource.ParseQuantity(now)
	b, errBefore := resource.ParseQuantity(before)
	return errNow == nil && errBefore == nil && n.Cmp(b) < 0 && n.Cmp(used) < 0
}
