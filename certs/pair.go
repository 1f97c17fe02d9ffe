package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

const (
	authorityLifetime = 10 * 365 * 24 * time.Hour
	leafLifetime      = 365 * 24 * time.Hour

	// skew is how far the clock of the API server may be behind ours.
	skew = time.Hour
)

// Pair is an authority and the leaf that it signed, all four parts in PEM.
type Pair struct {
	CA, CAKey     []byte
	Leaf, LeafKey []byte
}

// Issue makes an authority and a leaf for a DNS name.
func Issue(name string, now time.Time) (Pair, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("generating the key of the authority: %w", err)
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("generating the key of %q: %w", name, err)
	}
	ca, err := template("teamspace-webhook-ca", now, authorityLifetime)
	if err != nil {
		return Pair{}, err
	}
	ca.IsCA, ca.BasicConstraintsValid, ca.MaxPathLenZero = true, true, true
	ca.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	leaf, err := template(name, now, leafLifetime)
	if err != nil {
		return Pair{}, err
	}
	leaf.DNSNames = []string{name}
	leaf.KeyUsage = x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	return encode(ca, leaf, caKey, leafKey)
}

func template(commonName string, now time.Time, lifetime time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("drawing a serial number: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: shortened(commonName)},
		NotBefore:    now.Add(-skew),
		NotAfter:     now.Add(lifetime),
	}, nil
}

// shortened keeps to the 64 characters that a common name may have; what counts is
// the DNS name beside it.
func shortened(commonName string) string { return commonName[:min(len(commonName), 64)] }

func encode(ca, leaf *x509.Certificate, caKey, leafKey *ecdsa.PrivateKey) (Pair, error) {
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return Pair{}, fmt.Errorf("signing the authority: %w", err)
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, leafKey.Public(), caKey)
	if err != nil {
		return Pair{}, fmt.Errorf("signing the leaf: %w", err)
	}
	pair := Pair{CA: encodePEM("CERTIFICATE", caDER), Leaf: encodePEM("CERTIFICATE", leafDER)}
	for into, key := range map[*[]byte]*ecdsa.PrivateKey{&pair.CAKey: caKey, &pair.LeafKey: leafKey} {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return Pair{}, fmt.Errorf("encoding a key: %w", err)
		}
		*into = encodePEM("PRIVATE KEY", der)
	}
	return pair, nil
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Certificate returns the leaf in the form that a server presents, after it has made
// sure that key and certificate belong together and that a client which trusts the
// authority would accept it under the name.
func (p Pair) Certificate(name string, now time.Time) (*tls.Certificate, error) {
	certificate, err := tls.X509KeyPair(p.Leaf, p.LeafKey)
	if err != nil {
		return nil, fmt.Errorf("reading the leaf and its key: %w", err)
	}
	if err := Trusts(p.CA, certificate.Leaf, name, now); err != nil {
		return nil, err
	}
	return &certificate, nil
}

// Trusts returns an error unless a client that trusts the bundle accepts the leaf under
// the name.
func Trusts(bundle []byte, leaf *x509.Certificate, name string, now time.Time) error {
	if len(bytes.TrimSpace(bundle)) == 0 {
		return errors.New("there is no authority in the bundle")
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return errors.New("the bundle holds no certificate")
	}
	_, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: now})
	if err != nil {
		return fmt.Errorf("verifying the leaf for %q: %w", name, err)
	}
	return nil
}
