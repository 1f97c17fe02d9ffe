package drain

import (
	"context"
	"errors"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// ElsewhereError says that TeamSpace is installed under other names than the drain was told,
// so that it would miss what it is to take away, and its controller would go on.
type ElsewhereError struct {
	// Configuration is the webhook configuration that was found, as kind and name; Namespace
	// and Service are what it calls.
	Configuration, Namespace, Service string
}

// Error implements error.
func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("refused, and nothing was changed: %s is of a TeamSpace in namespace %q; "+
		"run it again with --release-namespace=%s --webhook-service=%s --deployment=%s",
		e.Configuration, e.Namespace, e.Namespace, e.Service, strings.TrimSuffix(e.Service, "-webhook")+"-controller")
}

// errPutBack is why a drain does not end whose steps all go through.
var errPutBack = errors.New("what was taken away is there again each time: a controller of TeamSpace " +
	"still runs, and not as --release-namespace and --deployment say")

// checkNames refuses if the webhooks of another release are there.
func (d *Drain) checkNames(ctx context.Context) (changed int, err error) {
	var validating admissionregistrationv1.ValidatingWebhookConfigurationList
	var mutating admissionregistrationv1.MutatingWebhookConfigurationList
	if err := errors.Join(d.client.List(ctx, &validating), d.client.List(ctx, &mutating)); err != nil {
		return 0, fmt.Errorf("looking for the webhooks of TeamSpace: %w", err)
	}
	for _, c := range validating.Items {
		for _, hook := range c.Webhooks {
			if err := d.elsewhere("ValidatingWebhookConfiguration", c.Name, hook.Name, hook.ClientConfig.Service); err != nil {
				return 0, err
			}
		}
	}
	for _, c := range mutating.Items {
		for _, hook := range c.Webhooks {
			if err := d.elsewhere("MutatingWebhookConfiguration", c.Name, hook.Name, hook.ClientConfig.Service); err != nil {
				return 0, err
			}
		}
	}
	return 0, nil
}

// hookSuffix ends the names of our webhooks, and of nobody else's.
const hookSuffix = ".platform.labhub.io"

// elsewhere returns an *ElsewhereError for a webhook of ours that the options do not name.
func (d *Drain) elsewhere(kind, configuration, hook string, service *admissionregistrationv1.ServiceReference) error {
	if service == nil || !strings.HasSuffix(hook, hookSuffix) ||
		configuration == d.options.Webhook && service.Namespace == d.options.Namespace {
		return nil
	}
	return &ElsewhereError{
		Configuration: fmt.Sprintf("%s %q", kind, configuration), Namespace: service.Namespace, Service: service.Name,
	}
}
