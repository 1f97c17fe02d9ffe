// Package proxy stands between a manager and the real API server, and does to requests
// what networks, busy servers and sudden deaths do to them: it refuses them, cuts them
// off, loses their answers, or tells the test just before and just after they are done.
package proxy

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// Request is what a manager asks for.
type Request struct {
	*http.Request

	// Content is the body. One patch is told from another by it.
	Content []byte
}

// Writes says whether the request is meant to change something.
func (r *Request) Writes() bool { return r.Method != http.MethodGet }

// Watches says whether the answer has no end.
func (r *Request) Watches() bool { return r.URL.Query().Get("watch") != "" }

// Says reports whether the content has these words in it.
func (r *Request) Says(words string) bool { return bytes.Contains(r.Content, []byte(words)) }

// Handler decides what becomes of a request. It answers it, or hands it to the API
// server by pass. It is called by many goroutines at once.
type Handler func(w http.ResponseWriter, r *Request, pass http.HandlerFunc)

// Proxy listens on loopback until its test ends.
type Proxy struct {
	// URL is what a manager has to take for the API server, CA the authority that it has
	// to trust. It is TLS because a client sends no token over anything else.
	URL string
	CA  []byte

	server  *httptest.Server
	reverse *httputil.ReverseProxy
	mu      sync.Mutex
	handler Handler
}

// Start starts a proxy in front of an API server. It has no credentials of its own:
// whoever goes through it brings a token.
func Start(t testing.TB, access *rest.Config) *Proxy {
	t.Helper()
	target, err := url.Parse(access.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(rest.AnonymousClientConfig(access))
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{reverse: &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // each event of a watch goes out at once
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { Cut() },
	}}
	p.server = httptest.NewUnstartedServer(p)
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.server.StartTLS()
	// A watch ends with its client; whoever has not ended yet is cut off.
	t.Cleanup(func() { p.CutAll(); p.server.Close() })
	p.URL = p.server.URL
	p.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	return p
}

// Handle lets a handler decide from now on; nil lets everything pass. Requests that are
// under way, watches above all, are not its concern.
func (p *Proxy) Handle(h Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handler = h
}

// CutAll breaks all connections, so that watches have to begin again.
func (p *Proxy) CutAll() { p.server.CloseClientConnections() }

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(r.Body)
	if err != nil {
		Cut()
	}
	r.Body = io.NopCloser(bytes.NewReader(content))
	p.mu.Lock()
	handler := p.handler
	p.mu.Unlock()
	if handler == nil {
		p.reverse.ServeHTTP(w, r)
		return
	}
	handler(w, &Request{Request: r, Content: content}, p.reverse.ServeHTTP)
}

// Cut breaks the connection without an answer. It does not return.
func Cut() { panic(http.ErrAbortHandler) }

// Refuse answers with an error of the API.
func Refuse(w http.ResponseWriter, err apierrors.APIStatus) {
	status := err.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status) // whoever has gone does not want it
}

// Lose has a request done, and loses the answer. It does not return.
func Lose(r *Request, pass http.HandlerFunc) {
	pass(httptest.NewRecorder(), r.Request)
	Cut()
}
