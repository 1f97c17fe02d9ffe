package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

// skew is how far the clock of the API server may be behind ours.
const skew = time.Hour

// newAuthority makes an authority with its key.
func newAuthority(now time.Time, lifetime time.Duration) (*x509.Certificate, crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generating the key of the authority: %w", err)
	}
	ca, err := template("teamspace-webhook-ca", now, lifetime)
	if err != nil {
		return nil, nil, err
	}
	// Authorities that follow each other differ in their subject, since a client looks for
	// the signer of a leaf by that first.
	ca.Subject.SerialNumber = ca.SerialNumber.Text(16)
	ca.IsCA, ca.BasicConstraintsValid, ca.MaxPathLenZero = true, true, true
	ca.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	signed, err := sign(ca, ca, key.Public(), key)
	return signed, key, err
}

// newLeaf makes what a server presents under a DNS name. It does not outlive its
// authority.
func newLeaf(name string, now time.Time, lifetime time.Duration, authority *x509.Certificate, key crypto.Signer) (*x509.Certificate, crypto.Signer, error) {
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generating the key of %q: %w", name, err)
	}
	leaf, err := template(name, now, lifetime)
	if err != nil {
		return nil, nil, err
	}
	if leaf.NotAfter.After(authority.NotAfter) {
		leaf.NotAfter = authority.NotAfter
	}
	leaf.DNSNames = []string{name}
	leaf.KeyUsage = x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	signed, err := sign(leaf, authority, leafKey.Public(), key)
	return signed, leafKey, err
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

func sign(certificate, authority *x509.Certificate, public crypto.PublicKey, key crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, certificate, authority, public, key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %q: %w", certificate.Subject.CommonName, err)
	}
	return x509.ParseCertificate(der)
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return encodePEM("PRIVATE KEY", der), nil
}
