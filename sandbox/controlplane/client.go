package controlplane

import (
	"context"
	"fmt"
	"time"

	"labhub.io/teamspace/sandbox/kubeconfig"
	"labhub.io/teamspace/sandbox/pki"
)

// CAFile is the certificate that the API server is trusted by, and that its clients are
// signed with.
func (p *Plane) CAFile() string { return p.files.ca.CertFile }

// Issue returns a certificate of that file name, for a client or a server.
func (p *Plane) Issue(file string, id pki.Identity) (*pki.Pair, error) {
	return p.files.store.Issue(p.files.ca, file, id)
}

// Kubeconfig makes a client of the API server and returns the path of its kubeconfig.
func (p *Plane) Kubeconfig(file string, id pki.Identity) (string, error) {
	pair, err := p.Issue(file, id)
	if err != nil {
		return "", err
	}
	path := p.dir.Path("pki", file+".kubeconfig")
	err = kubeconfig.Config{Server: p.URL(), CA: p.CA(), User: id.Name, Cert: pair.CertPEM, Key: pair.KeyPEM}.Write(path)
	if err != nil {
		return "", fmt.Errorf("making a client of the API server: %w", err)
	}
	return path, nil
}

// Answers returns a probe of a URL, as an administrator: it succeeds when the answer
// contains the text.
func (p *Plane) Answers(url, text string) func(context.Context, time.Time) error {
	return newProbe(p.files.ca, p.files.admin, url).expecting(text).ready
}
