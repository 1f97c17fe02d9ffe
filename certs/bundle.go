package certs

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hook is one webhook of a configuration, as far as trust goes.
type hook struct {
	name   string
	bundle []byte
}

// configuration is a webhook configuration of either kind.
type configuration struct {
	kind    string
	name    string
	version string // the resourceVersion that was read
	hooks   []hook
}

func validating(c *admissionregistrationv1.ValidatingWebhookConfiguration) configuration {
	found := configuration{kind: "ValidatingWebhookConfiguration", name: c.Name, version: c.ResourceVersion}
	for i := range c.Webhooks {
		found.hooks = append(found.hooks, hook{c.Webhooks[i].Name, c.Webhooks[i].ClientConfig.CABundle})
	}
	return found
}

func mutating(c *admissionregistrationv1.MutatingWebhookConfiguration) configuration {
	found := configuration{kind: "MutatingWebhookConfiguration", name: c.Name, version: c.ResourceVersion}
	for i := range c.Webhooks {
		found.hooks = append(found.hooks, hook{c.Webhooks[i].Name, c.Webhooks[i].ClientConfig.CABundle})
	}
	return found
}

// configurations reads both from the cache. One that is not there is left out: somebody
// has taken the webhooks out of service, and nobody has to trust us.
func (k *Keeper) configurations(ctx context.Context) ([]configuration, error) {
	key := client.ObjectKey{Name: k.options.Service}
	var found []configuration
	v := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	switch err := k.cache.Get(ctx, key, v); {
	case err == nil:
		found = append(found, validating(v))
	case client.IgnoreNotFound(err) != nil:
		return nil, fmt.Errorf("reading ValidatingWebhookConfiguration %q: %w", key.Name, err)
	}
	m := &admissionregistrationv1.MutatingWebhookConfiguration{}
	switch err := k.cache.Get(ctx, key, m); {
	case err == nil:
		found = append(found, mutating(m))
	case client.IgnoreNotFound(err) != nil:
		return nil, fmt.Errorf("reading MutatingWebhookConfiguration %q: %w", key.Name, err)
	}
	return found, nil
}

// complete says whether every webhook has the authority.
func (c configuration) complete(ca []byte) bool {
	return !slices.ContainsFunc(c.hooks, func(h hook) bool { return !bytes.Equal(h.bundle, ca) })
}

// declaration is what is applied: the caBundle of every webhook and nothing else. Those
// left out of an apply would lose theirs. With the resourceVersion a replica that has not
// seen yet what another one wrote does not undo it.
func (c configuration) declaration(ca []byte) *unstructured.Unstructured {
	hooks := make([]any, len(c.hooks))
	for i, h := range c.hooks {
		hooks[i] = map[string]any{
			"name":         h.name,
			"clientConfig": map[string]any{"caBundle": base64.StdEncoding.EncodeToString(ca)},
		}
	}
	declared := &unstructured.Unstructured{Object: map[string]any{"webhooks": hooks}}
	declared.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind(c.kind))
	declared.SetName(c.name)
	declared.SetResourceVersion(c.version)
	return declared
}

// untrusting returns an error unless every webhook trusts a leaf.
func untrusting(all []configuration, leaf *x509.Certificate, name string, now time.Time) error {
	for _, c := range all {
		for _, h := range c.hooks {
			if err := Trusts(h.bundle, leaf, name, now); err != nil {
				return fmt.Errorf("asking whether webhook %q of %s %q trusts the certificate: %w", h.name, c.kind, c.name, err)
			}
		}
	}
	return nil
}

// publish gives every webhook the bundle, where it has not got it, and returns the pair
// that it belongs to. Before it writes it asks the provider again, past the cache: another
// replica may have published a newer one by now.
func (k *Keeper) publish(ctx context.Context, pair Pair, due time.Time) (Pair, time.Time, error) {
	if k.provider.bundle(pair) == nil {
		return pair, due, nil
	}
	found, err := k.configurations(ctx)
	if err != nil || !slices.ContainsFunc(found, func(c configuration) bool { return !c.complete(k.provider.bundle(pair)) }) {
		return pair, due, err
	}
	if pair, due, err = k.provider.settle(ctx, k.live, k.servedPair()); err != nil {
		return Pair{}, time.Time{}, err
	}
	for _, c := range found {
		if c.complete(k.provider.bundle(pair)) {
			continue
		}
		declared := client.ApplyConfigurationFromUnstructured(c.declaration(k.provider.bundle(pair)))
		if err := k.writer.Apply(ctx, declared, fieldOwner, client.ForceOwnership); err != nil {
			return Pair{}, time.Time{}, fmt.Errorf("writing the caBundle of %s %q: %w", c.kind, c.name, err)
		}
	}
	return pair, due, nil
}
