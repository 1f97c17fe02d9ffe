package explain

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// backends knows which Services have somebody behind them.
type backends struct {
	services map[string]bool // true: it leads somewhere by other means than endpoints
	ready    map[string]bool
	unread   bool // nothing is said of Services that could not be read
}

func (g *gatherer) backends(ctx context.Context) backends {
	b := backends{services: map[string]bool{}, ready: map[string]bool{}}
	before := len(g.failed)
	g.each(ctx, corev1.SchemeGroupVersion.WithResource("services"), "", func(o *unstructured.Unstructured) error {
		var service corev1.Service
		err := decode(o, &service)
		b.services[o.GetNamespace()+"/"+o.GetName()] = len(service.Spec.Selector) == 0
		return err
	})
	g.each(ctx, discoveryv1.SchemeGroupVersion.WithResource("endpointslices"), "", func(o *unstructured.Unstructured) error {
		var slice discoveryv1.EndpointSlice
		if err := decode(o, &slice); err != nil {
			return err
		}
		for i := range slice.Endpoints {
			if ready := slice.Endpoints[i].Conditions.Ready; ready == nil || *ready {
				b.ready[slice.Namespace+"/"+slice.Labels[discoveryv1.LabelServiceName]] = true
			}
		}
		return nil
	})
	b.unread = len(g.failed) > before
	return b
}

// of says what is wrong with a Service. One without a selector may be served in ways that
// nobody sees from here.
func (b backends) of(namespace, name string) backend {
	service := namespace + "/" + name
	unselected, exists := b.services[service]
	switch {
	case b.unread || b.ready[service] || unselected:
		return backend{service: service}
	case !exists:
		return backend{service: service, fault: "missing"}
	default:
		return backend{service: service, fault: "no endpoint is ready"}
	}
}

// gatherWebhooks reads both kinds of configuration: what is of use here is the same in both.
func (g *gatherer) gatherWebhooks(ctx context.Context, f *facts, b backends) {
	for _, resource := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
		g.each(ctx, admissionregistrationv1.SchemeGroupVersion.WithResource(resource), "", func(o *unstructured.Unstructured) error {
			var whole admissionregistrationv1.ValidatingWebhookConfiguration
			if err := decode(o, &whole); err != nil {
				return err
			}
			for i := range whole.Webhooks {
				if err := f.addWebhook(o, b, &whole.Webhooks[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// addWebhook keeps a webhook that fails closed and has nobody behind it.
func (f *facts) addWebhook(o *unstructured.Unstructured, b backends, h *admissionregistrationv1.ValidatingWebhook) error {
	service := h.ClientConfig.Service
	if service == nil || h.FailurePolicy != nil && *h.FailurePolicy != admissionregistrationv1.Fail {
		return nil
	}
	w := webhook{
		kind: o.GetKind(), configuration: o.GetName(), name: h.Name, conditional: len(h.MatchConditions) > 0,
		backend: b.of(service.Namespace, service.Name),
	}
	if w.backend.fault == "" {
		return nil
	}
	for _, rule := range h.Rules {
		w.rules = append(w.rules, webhookRule{operations: texts(rule.Operations), groups: rule.APIGroups, resources: rule.Resources})
	}
	var err error
	if w.selectsNamespace, err = selects(h.NamespaceSelector); err != nil {
		return err
	}
	if w.selects, err = selects(h.ObjectSelector); err != nil {
		return err
	}
	f.webhooks = append(f.webhooks, w)
	return nil
}

func texts(operations []admissionregistrationv1.OperationType) []string {
	var list []string
	for _, operation := range operations {
		list = append(list, string(operation))
	}
	return list
}

// selects turns a selector into a question about labels; none selects everything.
func selects(selector *metav1.LabelSelector) (func(map[string]string) bool, error) {
	if selector == nil {
		return func(map[string]string) bool { return true }, nil
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, fmt.Errorf("reading the selector of a webhook: %w", err)
	}
	return func(of map[string]string) bool { return parsed.Matches(labels.Set(of)) }, nil
}

// gatherConversions reads which types need a conversion webhook that cannot be called (E8).
func (g *gatherer) gatherConversions(ctx context.Context, f *facts, b backends) {
	g.each(ctx, apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"), "", func(o *unstructured.Unstructured) error {
		var whole apiextensionsv1.CustomResourceDefinition
		if err := decode(o, &whole); err != nil {
			return err
		}
		how := whole.Spec.Conversion
		if how == nil || how.Webhook == nil || how.Webhook.ClientConfig == nil || how.Webhook.ClientConfig.Service == nil {
			return nil
		}
		service := how.Webhook.ClientConfig.Service
		if found := b.of(service.Namespace, service.Name); found.fault != "" {
			f.conversions = append(f.conversions, conversion{
				definition: whole.Name, kind: schema.GroupKind{Group: whole.Spec.Group, Kind: whole.Spec.Names.Kind}, backend: found,
			})
		}
		return nil
	})
}
