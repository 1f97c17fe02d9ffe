package enforcement

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hook is one webhook of a configuration.
type hook struct {
	name   string
	rules  []admissionregistrationv1.RuleWithOperations
	client admissionregistrationv1.WebhookClientConfig
}

// configuration is a webhook configuration of either kind.
type configuration struct {
	kind    string
	name    string
	version string // the resourceVersion that was read
	hooks   []hook
}

// The two kinds.
const (
	validatingKind = "ValidatingWebhookConfiguration"
	mutatingKind   = "MutatingWebhookConfiguration"
)

// configurations reads both. One that is not there is left out: it is never made here,
// since only the chart knows all of it.
func configurations(ctx context.Context, reader client.Reader, name string) ([]configuration, error) {
	key := client.ObjectKey{Name: name}
	var found []configuration
	v := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := reader.Get(ctx, key, v); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading %s %q: %w", validatingKind, name, err)
	} else if err == nil {
		c := configuration{kind: validatingKind, name: name, version: v.ResourceVersion}
		for i := range v.Webhooks {
			c.hooks = append(c.hooks, hook{v.Webhooks[i].Name, v.Webhooks[i].Rules, v.Webhooks[i].ClientConfig})
		}
		found = append(found, c)
	}
	m := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := reader.Get(ctx, key, m); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading %s %q: %w", mutatingKind, name, err)
	} else if err == nil {
		c := configuration{kind: mutatingKind, name: name, version: m.ResourceVersion}
		for i := range m.Webhooks {
			c.hooks = append(c.hooks, hook{m.Webhooks[i].Name, m.Webhooks[i].Rules, m.Webhooks[i].ClientConfig})
		}
		found = append(found, c)
	}
	return found, nil
}

// wanted returns the rules that a webhook has to have. One that is not ours keeps its own.
func wanted(h hook, off bool) []admissionregistrationv1.RuleWithOperations {
	ours := rules(h.name)
	switch {
	case ours == nil:
		return h.rules
	case off:
		return nil
	default:
		return ours
	}
}

// settled says whether every webhook has the rules that it has to have.
func (c configuration) settled(off bool) bool {
	for _, h := range c.hooks {
		if want := wanted(h, off); len(want) != len(h.rules) || len(want) > 0 && !equality.Semantic.DeepEqual(want, h.rules) {
			return false
		}
	}
	return true
}

// declaration is what is applied: the rules of our webhooks and nothing else. With the
// resourceVersion a configuration that was deleted meanwhile is not made again by it.
func (c configuration) declaration(off bool) (*unstructured.Unstructured, error) {
	hooks := make([]any, 0, len(c.hooks))
	for _, h := range c.hooks {
		if rules(h.name) == nil {
			continue
		}
		list := []any{}
		for _, rule := range wanted(h, off) {
			entry, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&rule)
			if err != nil {
				return nil, fmt.Errorf("encoding the rules of webhook %q: %w", h.name, err)
			}
			list = append(list, entry)
		}
		hooks = append(hooks, map[string]any{"name": h.name, "rules": list})
	}
	declared := &unstructured.Unstructured{Object: map[string]any{"webhooks": hooks}}
	declared.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind(c.kind))
	declared.SetName(c.name)
	declared.SetResourceVersion(c.version)
	return declared, nil
}
