package dev

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// probeName is what objects are called that are asked for and never made.
const probeName = "sandbox-probe"

// Serves returns an error unless the product does what it is there for, as far as it
// shows without an object being made: a TeamSpace gets its finalizer, and what has to be
// refused is refused. The API server learns of webhooks and policies a moment after they
// are there, so that this has to be asked more than once.
func (p *Product) Serves(ctx context.Context) error {
	var failed []error
	if p.renders("MutatingWebhookConfiguration") {
		failed = append(failed, p.probeTeamSpace(ctx))
	}
	for _, r := range p.refusals() {
		failed = append(failed, p.probeRefusal(ctx, r))
	}
	return errors.Join(failed...)
}

// renders reports whether the chart has objects of the kind.
func (p *Product) renders(kind string) bool {
	return slices.ContainsFunc(p.manifests.Objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
}

// probeTeamSpace asks for a TeamSpace.
func (p *Product) probeTeamSpace(ctx context.Context) error {
	ts := probe("platform.labhub.io/v1alpha1", "TeamSpace", "")
	ts.Object["spec"] = map[string]any{"pods": int64(1)}
	made, err := p.cluster.TryCreate(ctx, ts)
	if err == nil && len(made.GetFinalizers()) == 0 {
		err = errors.New("it has no finalizer")
	}
	if err != nil {
		return fmt.Errorf("asking for a TeamSpace: %w", err)
	}
	return nil
}

// refusal is an object that must not be accepted.
type refusal struct {
	object *unstructured.Unstructured
	// by is the name of what has to refuse it.
	by string
}

// refusals are those that the rendered chart promises.
func (p *Product) refusals() []refusal {
	var all []refusal
	if p.renders("ValidatingWebhookConfiguration") && p.enforces() {
		stale := probe("v1", "ConfigMap", "default") // the release's own may be left out
		stale.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Namespace", Name: p.options.Namespace, UID: "00000000-0000-0000-0000-000000000000",
		}})
		all = append(all, refusal{stale, "ownerreferences.platform.labhub.io"})
	}
	if p.renders("ValidatingAdmissionPolicy") {
		labelled := probe("v1", "Namespace", "")
		labelled.SetLabels(map[string]string{"platform.labhub.io/teamspace": probeName})
		owned := probe("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "")
		owned.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: probeName, UID: "0"}})
		all = append(all, refusal{labelled, "namespaces.platform.labhub.io"}, refusal{owned, "webhookconfigurations.platform.labhub.io"})
	}
	return all
}

// enforces reports whether the guard is told to deny.
func (p *Product) enforces() bool {
	for _, deployment := range p.manifests.Deployments {
		run, err := programOf(deployment, p.options.Namespace)
		if mode, given := run.flag("guard-mode"); err == nil && given {
			return mode == "enforce"
		}
	}
	return false
}

// probeRefusal asks for an object that has to be refused.
func (p *Product) probeRefusal(ctx context.Context, r refusal) error {
	_, err := p.cluster.TryCreate(ctx, r.object)
	switch {
	case err == nil:
		return fmt.Errorf("a wrong %s is accepted, though %s should refuse it", r.object.GetKind(), r.by)
	case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), r.by):
		return fmt.Errorf("a wrong %s is not refused by %s: %w", r.object.GetKind(), r.by, err)
	}
	return nil
}

// probe is an object of a kind.
func probe(apiVersion, kind, namespace string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.SetNamespace(namespace)
	object.SetName(probeName)
	return object
}
