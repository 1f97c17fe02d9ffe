package controlplane

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"labhub.io/teamspace/sandbox/pki"
)

// server is an HTTPS server that wants a certificate of the authority.
type server struct {
	*httptest.Server
	authority, client *pki.Pair
}

// serve answers with the handler until the test ends.
func serve(t *testing.T, handler http.HandlerFunc) server {
	t.Helper()
	c, err := makeCredentials(t.TempDir(), controllerManagerIdentity(nil), Local)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(handler)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{c.apiServer.TLS()}, ClientAuth: tls.RequireAnyClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	return server{Server: s, authority: c.ca, client: c.admin}
}

func TestProbe(t *testing.T) {
	for name, tc := range map[string]struct {
		status    int
		body      string
		expecting string
		want      string
	}{
		"it serves":               {status: 200, body: "ok"},
		"it says what is wrong":   {status: 500, body: "[-]etcd failed", want: "[-]etcd failed"},
		"it tells what it should": {status: 200, body: "[+]garbage-collector-controller ok", expecting: "garbage-collector"},
		"it does not tell yet":    {status: 200, body: "[+]ping ok", expecting: "garbage-collector", want: "garbage-collector"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if user := r.TLS.PeerCertificates[0].Subject; user.CommonName != "sandbox-admin" || user.Organization[0] != "system:masters" {
					t.Errorf("the probe comes from %s", user)
				}
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			})
			err := newProbe(s.authority, s.client, s.URL+"/healthz").expecting(tc.expecting).ready(t.Context(), time.Time{})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the probe says %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func TestProbe_TrustsItsAuthorityOnly(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	other, err := makeCredentials(t.TempDir(), controllerManagerIdentity(nil), Local)
	if err != nil {
		t.Fatal(err)
	}
	if err := newProbe(other.ca, s.client, s.URL).run(t.Context()); err == nil {
		t.Error("the probe trusts a server of another authority")
	}
}

func TestProbe_RespectsItsContext(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := newProbe(s.authority, s.client, s.URL).run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the probe says %v, want %v", err, context.DeadlineExceeded)
	}
}
