package certs

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// self is the built-in provider.
type self struct {
	options  Options
	rotation rotation
	live     client.Reader
	writer   client.Writer
	clock    clock.PassiveClock
}

// settle implements provider. Nothing is written because of a cache: what it makes look
// due is read again, and the write carries what was read, so that of several replicas one
// makes the pair that all of them go on with.
func (s *self) settle(ctx context.Context, reader client.Reader, served *Pair) (Pair, time.Time, error) {
	secret, err := s.read(ctx, reader)
	if err != nil {
		return Pair{}, time.Time{}, err
	}
	wanted, err := s.wanted(pairOf(secret), served)
	if err != nil {
		return Pair{}, time.Time{}, err
	}
	switch {
	case wanted.equal(pairOf(secret)):
		return wanted, s.rotation.due(wanted), nil
	case reader != s.live:
		return s.settle(ctx, s.live, served)
	}
	return wanted, s.rotation.due(wanted), s.write(ctx, secret, wanted)
}

// wanted is what the Secret has to hold: what it holds, with what is due replaced. A
// Secret that was deleted or spoilt by mistake comes back with what is being served, so
// that nobody has to trust anything new.
func (s *self) wanted(found Pair, served *Pair) (Pair, error) {
	now := s.clock.Now()
	if served != nil {
		leaf, err := served.Certificate(s.rotation.name, now)
		_, unusable := found.Certificate(s.rotation.name, now)
		switch {
		case err != nil:
		case unusable != nil:
			found = *served
		case Trusts(found.CA, leaf.Leaf, s.rotation.name, now) != nil:
			// Another authority was put in its place. Both are trusted until the old one ends.
			found.CA = encodeAuthorities(append(authorities(found.CA), authorities(served.CA)...))
		}
	}
	return s.rotation.advance(found, now)
}

func (s *self) bundle(p Pair) []byte { return p.CA }

// read returns the Secret, and an empty one if it is not there.
func (s *self) read(ctx context.Context, reader client.Reader) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: s.options.Namespace, Name: s.options.secret()}
	if err := reader.Get(ctx, key, secret); apierrors.IsNotFound(err) {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Type: corev1.SecretTypeTLS}, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading Secret %q: %w", key.Name, err)
	}
	return secret, nil
}

// write brings the Secret up to a pair. The resourceVersion that was read refuses the
// second of two writes.
func (s *self) write(ctx context.Context, secret *corev1.Secret, p Pair) error {
	if secret.ResourceVersion == "" {
		version, err := s.create(ctx, secret.Namespace, secret.Name)
		if err != nil {
			return err
		}
		secret.ResourceVersion = version
	}
	patch := client.MergeFromWithOptions(secret.DeepCopy(), client.MergeFromWithOptimisticLock{})
	secret.Data = dataOf(p)
	if err := s.writer.Patch(ctx, secret, patch, fieldOwner); err != nil {
		return fmt.Errorf("renewing Secret %q: %w", secret.Name, err)
	}
	return nil
}

// create makes the Secret with nothing in it, and returns its resourceVersion. It does so
// by an apply: only there does the permission to create hold for one name alone. An apply
// cannot ask that nothing be there; but it does not force, and so it is refused if another
// replica has made the Secret meanwhile and filled it.
func (s *self) create(ctx context.Context, namespace, name string) (version string, err error) {
	empty := &unstructured.Unstructured{Object: map[string]any{
		"type": string(corev1.SecretTypeTLS),
		"data": map[string]any{corev1.TLSCertKey: "", corev1.TLSPrivateKeyKey: ""}, // which that type asks for
	}}
	empty.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	empty.SetNamespace(namespace)
	empty.SetName(name)
	if err := s.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(empty), fieldOwner); err != nil {
		return "", fmt.Errorf("creating Secret %q: %w", name, err)
	}
	return empty.GetResourceVersion(), nil
}
