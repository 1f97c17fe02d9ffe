package certs

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// certManager is the provider that only loads what cert-manager makes.
type certManager struct {
	options Options
	clock   clock.PassiveClock
}

// settle implements provider. It takes whatever can be served now: whether the authority
// beside it is the one that the API server trusts is for the caBundles to say.
func (c *certManager) settle(ctx context.Context, reader client.Reader, _ *Pair) (Pair, time.Time, error) {
	secret := &corev1.Secret{}
	if err := reader.Get(ctx, client.ObjectKey{Namespace: c.options.Namespace, Name: c.options.secret()}, secret); err != nil {
		return Pair{}, time.Time{}, fmt.Errorf("reading Secret %q, which cert-manager makes: %w", c.options.secret(), err)
	}
	pair := pairOf(secret)
	pair.CAKey = nil // not ours, wherever it is
	certificate, err := tls.X509KeyPair(pair.Leaf, pair.LeafKey)
	if err != nil {
		return Pair{}, time.Time{}, fmt.Errorf("using Secret %q: reading the leaf and its key: %w", secret.Name, err)
	}
	now, leaf := c.clock.Now(), certificate.Leaf
	if err := leaf.VerifyHostname(c.options.name()); err != nil {
		return Pair{}, time.Time{}, fmt.Errorf("using Secret %q: %w", secret.Name, err)
	}
	if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		return Pair{}, time.Time{}, fmt.Errorf("using Secret %q: the leaf is good from %s to %s only", secret.Name, leaf.NotBefore, leaf.NotAfter)
	}
	return pair, leaf.NotAfter, nil
}

func (c *certManager) bundle(Pair) []byte { return nil }
