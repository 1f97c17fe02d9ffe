package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// discovered is what the API server of the tests serves, by path.
var discovered = map[string]string{
	"/version": `{"gitVersion": "v1.37.2"}`,
	"/api":     `{"kind": "APIVersions", "versions": ["v1"]}`,
	"/apis": `{"kind": "APIGroupList", "groups": [{"name": "apiextensions.k8s.io",
		"versions": [{"groupVersion": "apiextensions.k8s.io/v1", "version": "v1"}],
		"preferredVersion": {"groupVersion": "apiextensions.k8s.io/v1", "version": "v1"}}]}`,
	"/api/v1": `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [
		{"name": "namespaces", "kind": "Namespace", "namespaced": false},
		{"name": "namespaces/status", "kind": "Namespace", "namespaced": false},
		{"name": "configmaps", "kind": "ConfigMap", "namespaced": true}]}`,
	"/apis/apiextensions.k8s.io/v1": `{"kind": "APIResourceList", "groupVersion": "apiextensions.k8s.io/v1", "resources": [
		{"name": "customresourcedefinitions", "kind": "CustomResourceDefinition", "namespaced": false}]}`,
}

// recorder is an API server that records what is applied. It says that a type
// is served when it is asked for the third time.
type recorder struct {
	applied []string
	asked   int
}

// ServeHTTP answers.
func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if body, ok := discovered[request.URL.Path]; ok {
		_, _ = io.WriteString(w, body)
		return
	}
	if request.Method == http.MethodPatch {
		r.applied = append(r.applied, request.URL.RequestURI())
		if strings.Contains(request.URL.Path, "/refused") {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "no"}`)
			return
		}
		_, _ = io.Copy(w, request.Body)
		return
	}
	status := "False"
	if r.asked++; r.asked >= 3 {
		status = "True"
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"status": map[string]any{"conditions": []map[string]string{{"type": "Established", "status": status}}},
	})
}

// record returns a recorder and a client of it.
func record(t *testing.T) (*recorder, *Client) {
	t.Helper()
	r := &recorder{}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	c, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return r, c
}

// object returns an object.
func object(version, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(version)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func TestClient_Apply(t *testing.T) {
	r, c := record(t)
	err := c.Apply(t.Context(),
		Namespace("team"),
		object("v1", "ConfigMap", "team", "settings"),
		// A chart may give a namespace to what has none.
		object("v1", "Namespace", "team", "other"),
	)
	if err != nil {
		t.Fatal(err)
	}
	const options = "?fieldManager=teamspace-sandbox&force=true"
	want := []string{
		"/api/v1/namespaces/team" + options,
		"/api/v1/namespaces/team/configmaps/settings" + options,
		"/api/v1/namespaces/other" + options,
	}
	if diff := cmp.Diff(want, r.applied); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
}

func TestClient_ApplyErrorsNameTheObject(t *testing.T) {
	_, c := record(t)
	for _, tc := range []struct {
		object *unstructured.Unstructured
		want   string
	}{
		{object("v1", "ConfigMap", "team", "refused"), `applying ConfigMap "refused"`},
		{object("example.org/v1", "Thing", "", "x"), "example.org/v1, Kind=Thing"},
	} {
		if err := c.Apply(t.Context(), tc.object); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Apply() = %v, want an error with %q", err, tc.want)
		}
	}
}

func TestClient_ApplyCRDsWaitsUntilTheyAreServed(t *testing.T) {
	r, c := record(t)
	crd := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "things.example.org")
	if err := c.ApplyCRDs(t.Context(), []*unstructured.Unstructured{crd}); err != nil {
		t.Fatal(err)
	}
	if r.asked != 3 {
		t.Errorf("asked %d times, want 3", r.asked)
	}
}

func TestClient_ApplyCRDsEndsWithItsContext(t *testing.T) {
	r, c := record(t)
	r.asked = -1 << 30
	errBoom := errors.New("boom")
	ctx, cancel := context.WithCancelCause(t.Context())
	crd := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "things.example.org")
	if err := c.Apply(ctx, crd); err != nil {
		t.Fatal(err)
	}
	cancel(errBoom)
	if err := c.ApplyCRDs(ctx, []*unstructured.Unstructured{crd}); err == nil {
		t.Error("ApplyCRDs() succeeded though its context has ended")
	}
}

func TestClient_WhatTheClusterIs(t *testing.T) {
	_, c := record(t)
	if version, err := c.Version(); err != nil || version != "v1.37.2" {
		t.Errorf("Version() = %q, %v", version, err)
	}
	got, err := c.APIs()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"v1", "v1/Namespace", "v1/ConfigMap",
		"apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1/CustomResourceDefinition",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("APIs() (-want +got):\n%s", diff)
	}
}
