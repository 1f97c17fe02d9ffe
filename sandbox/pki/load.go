package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// errMalformed is returned for a file that holds something else than expected.
var errMalformed = errors.New("malformed")

// load reads the pair of that file name.
func (s *Store) load(file string) (*Pair, error) {
	p := &Pair{}
	p.CertFile, p.KeyFile = s.paths(file)
	var err error
	if p.CertPEM, err = os.ReadFile(p.CertFile); err != nil {
		return nil, err
	}
	if p.KeyPEM, err = os.ReadFile(p.KeyFile); err != nil {
		return nil, err
	}
	block, _ := pem.Decode(p.CertPEM)
	if block == nil {
		return nil, fmt.Errorf("%s: %w", p.CertFile, errMalformed)
	}
	if p.cert, err = x509.ParseCertificate(block.Bytes); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", p.CertFile, errMalformed, err)
	}
	if p.key, err = decodeKey(p.KeyPEM); err != nil {
		return nil, fmt.Errorf("%s: %w", p.KeyFile, err)
	}
	return p, nil
}

// TLS is the pair as Go's TLS wants it.
func (p *Pair) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.cert.Raw}, PrivateKey: p.key, Leaf: p.cert}
}

// SigningKey is the key pair that service account tokens are signed with.
type SigningKey struct {
	PrivateFile, PublicFile string
}

// SigningKey returns the key pair of that file name. The tokens that were
// signed with it stay good as long as the folder is kept.
func (s *Store) SigningKey(file string) (SigningKey, error) {
	base, private := s.paths(file)
	public := base[:len(base)-len(".crt")] + ".pub"
	found := SigningKey{PrivateFile: private, PublicFile: public}
	data, err := os.ReadFile(private)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return SigningKey{}, fmt.Errorf("reading the signing key: %w", err)
	}
	key, err := decodeKey(data)
	if err != nil {
		if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return SigningKey{}, fmt.Errorf("making the signing key: %w", err)
		}
		if data, err = encodeKey(key); err != nil {
			return SigningKey{}, fmt.Errorf("encoding the signing key: %w", err)
		}
		if err := os.WriteFile(private, data, 0o600); err != nil {
			return SigningKey{}, fmt.Errorf("writing the signing key: %w", err)
		}
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return SigningKey{}, fmt.Errorf("encoding the public signing key: %w", err)
	}
	if err := os.WriteFile(public, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o644); err != nil {
		return SigningKey{}, fmt.Errorf("writing the public signing key: %w", err)
	}
	return found, nil
}

// encodeKey writes a private key as PEM.
func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// decodeKey reads what encodeKey wrote.
func decodeKey(data []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errMalformed
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	return key, nil
}
