package certs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Keys of the Secret, beside the two that its type asks for.
const (
	keyCA    = "ca.crt"
	keyCAKey = "ca.key"
)

func pairOf(secret *corev1.Secret) Pair {
	return Pair{
		CA: secret.Data[keyCA], CAKey: secret.Data[keyCAKey],
		Leaf: secret.Data[corev1.TLSCertKey], LeafKey: secret.Data[corev1.TLSPrivateKeyKey],
	}
}

func dataOf(p Pair) map[string][]byte {
	return map[string][]byte{
		keyCA: p.CA, keyCAKey: p.CAKey,
		corev1.TLSCertKey: p.Leaf, corev1.TLSPrivateKeyKey: p.LeafKey,
	}
}

// settle returns the pair that all replicas use: the one in the Secret, or, if there is
// none that can be used, the one that a replica was the first to put there. It asks the
// API server and no cache, so that two replicas never go on with two pairs.
func (k *Keeper) settle(ctx context.Context) (Pair, error) {
	secret := &corev1.Secret{}
	err := k.live.Get(ctx, client.ObjectKey{Namespace: k.options.Namespace, Name: k.options.secret()}, secret)
	if apierrors.IsNotFound(err) {
		return k.create(ctx)
	}
	if err != nil {
		return Pair{}, fmt.Errorf("reading Secret %q: %w", k.options.secret(), err)
	}
	pair := pairOf(secret)
	if _, err := pair.Certificate(k.options.name(), k.clock.Now()); err == nil {
		return pair, nil
	}
	pair, err = k.fresh()
	if err != nil {
		return Pair{}, err
	}
	secret.Data = dataOf(pair)
	if err := k.writer.Update(ctx, secret, fieldOwner); err != nil { // its resourceVersion refuses the second of two
		return Pair{}, fmt.Errorf("replacing what cannot be used in Secret %q: %w", secret.Name, err)
	}
	return pair, nil
}

func (k *Keeper) create(ctx context.Context) (Pair, error) {
	pair, err := k.fresh()
	if err != nil {
		return Pair{}, err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: k.options.Namespace, Name: k.options.secret()},
		Type:       corev1.SecretTypeTLS,
		Data:       dataOf(pair),
	}
	if err := k.writer.Create(ctx, secret, fieldOwner); err != nil { // it exists: the next pass reads it
		return Pair{}, fmt.Errorf("creating Secret %q: %w", secret.Name, err)
	}
	return pair, nil
}

// fresh returns what is being served, if that is still good, and else a new pair: a
// Secret that was deleted by mistake comes back without a change of authority.
func (k *Keeper) fresh() (Pair, error) {
	if served := k.served.Load(); served != nil {
		if _, err := served.pair.Certificate(k.options.name(), k.clock.Now()); err == nil {
			return served.pair, nil
		}
	}
	return Issue(k.options.name(), k.clock.Now())
}
