// Package pki keeps the keys and certificates of a control plane in a folder.
//
// What is there and still good is used again, so that a kubeconfig stays valid
// over a restart of the sandbox; what is missing, unreadable, about to expire
// or signed by an authority that is not there any more is made anew.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	// lifetime is that of every certificate: a sandbox is no place to learn
	// about rotation.
	lifetime = 10 * 365 * 24 * time.Hour
	// margin is how long a certificate must be good for to be used again.
	margin = 24 * time.Hour
)

// Store makes keys and certificates, and keeps them in a folder.
type Store struct {
	dir string
	now func() time.Time
}

// Open returns the store in dir, which is made if need be. Nobody else can look
// into it.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder for certificates: %w", err)
	}
	return &Store{dir: dir, now: time.Now}, nil
}

// Pair is a certificate with its key, and where both are.
type Pair struct {
	CertFile, KeyFile string
	CertPEM, KeyPEM   []byte

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Identity says whom a certificate is for.
type Identity struct {
	// Name is the common name: the user, for a client.
	Name string
	// Groups are the organisations: the user's groups, for a client.
	Groups []string
	// Hosts are DNS names and IP addresses: set for a server.
	Hosts []string
}

// Authority returns the certificate authority of that file name.
func (s *Store) Authority(file, name string) (*Pair, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	return s.ensure(file, template, nil)
}

// Issue returns a certificate of that file name, signed by the authority. It
// serves as client and as server, since etcd's peers are both.
func (s *Store) Issue(authority *Pair, file string, id Identity) (*Pair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: id.Name, Organization: id.Groups},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if len(id.Hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range id.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return s.ensure(file, template, authority)
}

// ensure returns the pair of that file name, made anew unless it is good.
func (s *Store) ensure(file string, template *x509.Certificate, authority *Pair) (*Pair, error) {
	pair, err := s.load(file)
	if err == nil && s.good(pair, template, authority) {
		return pair, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errMalformed) {
		return nil, fmt.Errorf("reading the certificate %q: %w", file, err)
	}
	pair, err = s.create(file, template, authority)
	if err != nil {
		return nil, fmt.Errorf("making the certificate %q: %w", file, err)
	}
	return pair, nil
}

// good reports whether the pair can be used for what the template asks for.
func (s *Store) good(p *Pair, template *x509.Certificate, authority *Pair) bool {
	now := s.now()
	if now.Before(p.cert.NotBefore) || now.Add(margin).After(p.cert.NotAfter) {
		return false
	}
	if !p.key.PublicKey.Equal(p.cert.PublicKey) || p.cert.IsCA != template.IsCA {
		return false
	}
	if p.cert.Subject.String() != template.Subject.String() || !sameHosts(p.cert, template) {
		return false
	}
	return authority == nil || p.cert.CheckSignatureFrom(authority.cert) == nil
}

// sameHosts reports whether a is for every host that b is for.
func sameHosts(a, b *x509.Certificate) bool {
	for _, name := range b.DNSNames {
		if a.VerifyHostname(name) != nil {
			return false
		}
	}
	for _, ip := range b.IPAddresses {
		if a.VerifyHostname(ip.String()) != nil {
			return false
		}
	}
	return true
}

// create makes a key and a certificate, signed by the authority or by itself.
func (s *Store) create(file string, template *x509.Certificate, authority *Pair) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	// A clock that is set back a little must not make the certificate invalid.
	template.NotBefore, template.NotAfter = s.now().Add(-time.Hour), s.now().Add(lifetime)
	parent, signer := template, key
	if authority != nil {
		parent, signer = authority.cert, authority.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	certFile, keyFile := s.paths(file)
	if err := os.WriteFile(keyFile, keyPEM, 0o600); err != nil {
		return nil, err
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(certFile, certPEM, 0o644); err != nil {
		return nil, err
	}
	return s.load(file)
}

// paths are where the pair of that file name is kept.
func (s *Store) paths(file string) (certFile, keyFile string) {
	base := filepath.Join(s.dir, file)
	return base + ".crt", base + ".key"
}
