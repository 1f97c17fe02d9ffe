package drain

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// stopController scales the controller down, and fails until its pods are gone and nobody
// holds its lease: a controller that somebody runs by hand has no pod.
func (d *Drain) stopController(ctx context.Context) (changed int, err error) {
	deployment, err := d.scaleDown(ctx)
	if err != nil {
		return 0, err
	}
	pods, err := d.pods(ctx, deployment)
	if err != nil {
		return 0, err
	}
	if len(pods) > 0 {
		return 0, fmt.Errorf("waiting for the controller to stop: there are pods of it: %s", strings.Join(pods, ", "))
	}
	lease, err := d.lease(ctx)
	if err != nil {
		return 0, err
	}
	d.seen = d.seen.next(lease, d.clock.Now())
	if holder := d.seen.holder(d.clock.Now()); holder != "" {
		return 0, fmt.Errorf("waiting for the controller to stop: Lease %q is held by %q", d.options.Lease, holder)
	}
	return 0, nil
}

// scaleDown returns the Deployment, or nil if there is none.
func (d *Drain) scaleDown(ctx context.Context) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: d.options.Namespace, Name: d.options.Deployment}
	err := d.client.Get(ctx, key, deployment)
	if apierrors.IsNotFound(err) {
		d.log.V(1).Info("The controller's Deployment is gone", "deployment", key.String())
		return nil, nil //nolint:nilnil // no Deployment is an answer, not a failure
	}
	if err != nil {
		return nil, fmt.Errorf("reading Deployment %q: %w", key, err)
	}
	if deployment.Spec.Replicas != nil && *deployment.Spec.Replicas == 0 {
		return deployment, nil
	}
	d.log.Info("Stopping the controller", "deployment", key.String())
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`))
	err = d.client.SubResource("scale").Patch(ctx, deployment.DeepCopy(), patch, client.WithSubResourceBody(&autoscalingv1.Scale{}))
	if err != nil {
		return nil, fmt.Errorf("scaling Deployment %q to zero: %w", key, err)
	}
	return deployment, nil
}

// pods are the names of the Deployment's pods that may still run.
func (d *Drain) pods(ctx context.Context, deployment *appsv1.Deployment) ([]string, error) {
	if deployment == nil {
		return nil, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("reading the selector of Deployment %q: %w", deployment.Name, err)
	}
	list := &corev1.PodList{}
	if err := d.client.List(ctx, list, client.InNamespace(deployment.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("listing the pods of Deployment %q: %w", deployment.Name, err)
	}
	var names []string
	for i := range list.Items {
		if phase := list.Items[i].Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
			names = append(names, list.Items[i].Name)
		}
	}
	return names, nil
}

func (d *Drain) lease(ctx context.Context) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	err := d.client.Get(ctx, client.ObjectKey{Namespace: d.options.Namespace, Name: d.options.Lease}, lease)
	if apierrors.IsNotFound(err) {
		return lease, nil // held by nobody
	}
	if err != nil {
		return nil, fmt.Errorf("reading Lease %q: %w", d.options.Lease, err)
	}
	return lease, nil
}

// holding is what is known of a lease: its holder is believed until it has not renewed it
// for as long as it lasts, by our own clock, since nobody knows whether theirs is right.
type holding struct {
	spec  coordinationv1.LeaseSpec
	since time.Time
}

// next takes in what was read just now.
func (h holding) next(lease *coordinationv1.Lease, now time.Time) holding {
	if !h.since.IsZero() && sameRenewal(h.spec, lease.Spec) {
		return h
	}
	return holding{spec: lease.Spec, since: now}
}

func sameRenewal(a, b coordinationv1.LeaseSpec) bool {
	sameHolder := valueOf(a.HolderIdentity) == valueOf(b.HolderIdentity)
	return sameHolder && a.RenewTime.Equal(b.RenewTime)
}

// holder is who holds it; empty if nobody does.
func (h holding) holder(now time.Time) string {
	duration := time.Duration(valueOf(h.spec.LeaseDurationSeconds)) * time.Second
	if now.Sub(h.since) > duration {
		return ""
	}
	return valueOf(h.spec.HolderIdentity)
}

func valueOf[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}
