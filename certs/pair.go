package certs

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Pair is what a Secret holds: the authorities that clients may trust, the newest one
// first, its key, and the leaf that is served, with its key; all in PEM.
type Pair struct {
	CA, CAKey     []byte
	Leaf, LeafKey []byte
}

// Certificate returns the leaf in the form that a server presents, after it has made
// sure that key and certificate belong together and that a client which trusts the
// authorities would accept it under the name.
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

// equal says whether two pairs are the same, byte by byte.
func (p Pair) equal(other Pair) bool {
	return bytes.Equal(p.CA, other.CA) && bytes.Equal(p.CAKey, other.CAKey) &&
		bytes.Equal(p.Leaf, other.Leaf) && bytes.Equal(p.LeafKey, other.LeafKey)
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

// authorities reads a bundle. What is no certificate is left out.
func authorities(bundle []byte) []*x509.Certificate {
	var found []*x509.Certificate
	for {
		var block *pem.Block
		block, bundle = pem.Decode(bundle)
		if block == nil {
			return found
		}
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil {
			found = append(found, certificate)
		}
	}
}

// unexpired leaves out what has expired.
func unexpired(all []*x509.Certificate, now time.Time) []*x509.Certificate {
	return slices.DeleteFunc(all, func(c *x509.Certificate) bool { return now.After(c.NotAfter) })
}

func encodeAuthorities(all []*x509.Certificate) []byte {
	var bundle []byte
	for _, certificate := range all {
		bundle = append(bundle, encodePEM("CERTIFICATE", certificate.Raw)...)
	}
	return bundle
}

// authorityKey returns the key of the newest authority, and nil if that is not there.
func (p Pair) authorityKey(newest *x509.Certificate) crypto.Signer {
	block, _ := pem.Decode(p.CAKey)
	if block == nil {
		return nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil
	}
	public, ok := signer.Public().(interface{ Equal(x crypto.PublicKey) bool })
	if !ok || !public.Equal(newest.PublicKey) {
		return nil
	}
	return signer
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
