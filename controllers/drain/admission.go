package drain

import (
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// policies are the ValidatingAdmissionPolicies of the chart; each has a binding of its name.
var policies = []string{
	"certificates.platform.labhub.io", "connections.platform.labhub.io", "modes.platform.labhub.io",
	"namespaces.platform.labhub.io", "webhookconfigurations.platform.labhub.io",
}

// judge is an object by which requests are judged.
type judge struct{ kind, name string }

// judges are all that the chart makes, the mutating webhook first: it puts finalizers on.
// A policy without its binding is not in force, so that bindings go before.
func (d *Drain) judges() []judge {
	all := []judge{{"MutatingWebhookConfiguration", d.options.Webhook}, {"ValidatingWebhookConfiguration", d.options.Webhook}}
	for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
		for _, name := range policies {
			all = append(all, judge{kind, name})
		}
	}
	return all
}

// removeAdmission deletes them, and counts those that were there. Nobody makes them again.
func (d *Drain) removeAdmission(ctx context.Context) (changed int, err error) {
	var failed []error
	for _, j := range d.judges() {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind(j.kind))
		object.SetName(j.name)
		err := d.client.Delete(ctx, object)
		if client.IgnoreNotFound(err) != nil {
			failed = append(failed, fmt.Errorf("deleting %s %q: %w", j.kind, j.name, err))
			continue
		}
		if err == nil {
			changed++
			d.log.Info("Deleted", "kind", j.kind, "name", j.name)
		}
	}
	return changed, errors.Join(failed...)
}
