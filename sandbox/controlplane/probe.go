package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"labhub.io/teamspace/sandbox/pki"
)

// probe asks one URL whether something serves.
type probe struct {
	url string
	// contains, if set, has to be in the answer.
	contains string
	client   *http.Client
}

// newProbe returns a probe that trusts the authority and shows the client's
// certificate. Each run dials anew: a connection to a former process says
// nothing about the present one.
func newProbe(authority, client *pki.Pair, url string) *probe {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.CertPEM)
	return &probe{url: url, client: &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{client.TLS()}},
	}}}
}

// expecting returns the probe with a text that has to be in the answer.
func (p *probe) expecting(text string) *probe {
	p.contains = text
	return p
}

// run returns nil if the answer is as it should be.
func (p *probe) run(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return fmt.Errorf("probing %s: %w", p.url, err)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return fmt.Errorf("probing: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("probing %s: %w", p.url, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("probing %s: %s: %s", p.url, response.Status, strings.TrimSpace(string(body)))
	}
	if !strings.Contains(string(body), p.contains) {
		return fmt.Errorf("probing %s: the answer does not tell of %s yet", p.url, p.contains)
	}
	return nil
}

// ready is run as the probe of a process: that of the present one, since each
// run dials anew and the address is checked to be free before a start.
func (p *probe) ready(ctx context.Context, _ time.Time) error { return p.run(ctx) }

// Serving returns nil once an administrator can list namespaces and the
// controllers have made what every pod of the default namespace needs.
func (p *Plane) Serving(ctx context.Context) error {
	for _, path := range []string{
		"/api/v1/namespaces",
		"/api/v1/namespaces/default/serviceaccounts/default",
		"/api/v1/namespaces/default/configmaps/kube-root-ca.crt",
	} {
		if err := newProbe(p.files.ca, p.files.admin, p.URL()+path).run(ctx); err != nil {
			return err
		}
	}
	return nil
}
