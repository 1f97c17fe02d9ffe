package certs

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Provider names who makes the certificate.
type Provider string

// The providers.
const (
	// Self is the built-in one, which needs nobody else.
	Self Provider = "self"

	// CertManager leaves it to cert-manager: its controllers fill the Secret, and its
	// cainjector writes the caBundles.
	CertManager Provider = "cert-manager"
)

// ParseProvider reads the name of a provider.
func ParseProvider(text string) (Provider, error) {
	switch p := Provider(text); p {
	case Self, CertManager:
		return p, nil
	default:
		return "", fmt.Errorf("provider %q: want %s or %s", text, Self, CertManager)
	}
}

// provider says what is to be served.
type provider interface {
	// settle returns the pair that all replicas are to serve, and when it has to be asked
	// again at the latest. It reads by the reader that it is given, and may know what is
	// being served at the moment.
	settle(ctx context.Context, reader client.Reader, served *Pair) (Pair, time.Time, error)

	// bundle returns what the caBundle of every webhook has to be for that, and nil if it
	// is somebody else who writes them.
	bundle(p Pair) []byte
}

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
