package dev

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// apiServer is an API server that accepts everything and keeps nothing.
type apiServer struct {
	*httptest.Server

	mu sync.Mutex
	// got are the requests that change something, as method and path.
	got []string
	// leaseTaken is when the one Lease was taken, zero if never.
	leaseTaken time.Time
}

// resources are what it serves, by group and version.
var resources = map[string][]string{
	"v1":                              {"Namespace", "ServiceAccount namespaced"},
	"apiextensions.k8s.io/v1":         {"CustomResourceDefinition"},
	"rbac.authorization.k8s.io/v1":    {"ClusterRoleBinding"},
	"coordination.k8s.io/v1":          {"Lease namespaced"},
	"admissionregistration.k8s.io/v1": {"ValidatingWebhookConfiguration"},
}

// newAPIServer returns an API server that lives as long as the test.
func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", answer(map[string]string{"gitVersion": "v1.37.2"}))
	mux.HandleFunc("GET /api", answer(map[string]any{"kind": "APIVersions", "versions": []string{"v1"}}))
	mux.HandleFunc("GET /apis", answer(groups()))
	for version, kinds := range resources {
		path := "/apis/" + version
		if version == "v1" {
			path = "/api/v1"
		}
		mux.HandleFunc("GET "+path, answer(resourceList(version, kinds)))
	}
	mux.HandleFunc("GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}", answer(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"status": map[string]any{"conditions": []map[string]string{{"type": "Established", "status": "True"}}},
	}))
	mux.HandleFunc("GET /apis/coordination.k8s.io/v1/namespaces/{namespace}/leases", s.leases)
	mux.HandleFunc("PATCH /", s.echo)
	mux.HandleFunc("DELETE /", s.note(answer(map[string]string{"apiVersion": "v1", "kind": "Status", "status": "Success"})))
	mux.HandleFunc("POST /", s.note(answer(map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "status": map[string]string{"token": "a token"},
	})))
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// answer returns a handler that always answers the same.
func answer(body any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	}
}

// note records the request before it is handled.
func (s *apiServer) note(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.got = append(s.got, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		next(w, r)
	}
}

// echo answers an apply with what was applied.
func (s *apiServer) echo(w http.ResponseWriter, r *http.Request) {
	s.note(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, r.Body)
	})(w, r)
}

// leases lists the one Lease.
func (s *apiServer) leases(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec := map[string]string{}
	if !s.leaseTaken.IsZero() {
		spec = map[string]string{"holderIdentity": "somebody", "acquireTime": s.leaseTaken.UTC().Format("2006-01-02T15:04:05.000000Z07:00")}
	}
	answer(map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "LeaseList",
		"items": []map[string]any{{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]string{"name": "lease"}, "spec": spec}},
	})(w, r)
}

// take has somebody take the Lease at that time.
func (s *apiServer) take(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaseTaken = at
}

// requests are those that change something, in order.
func (s *apiServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// groups is the answer of /apis.
func groups() map[string]any {
	var list []map[string]any
	for version := range resources {
		group, number, named := strings.Cut(version, "/")
		if !named {
			continue
		}
		v := map[string]string{"groupVersion": version, "version": number}
		list = append(list, map[string]any{"name": group, "versions": []any{v}, "preferredVersion": v})
	}
	return map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": list}
}

// resourceList is the answer for one group and version.
func resourceList(version string, kinds []string) map[string]any {
	var list []map[string]any
	for _, text := range kinds {
		kind, scope, _ := strings.Cut(text, " ")
		list = append(list, map[string]any{"name": strings.ToLower(kind) + "s", "kind": kind, "namespaced": scope != ""})
	}
	return map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": list}
}
