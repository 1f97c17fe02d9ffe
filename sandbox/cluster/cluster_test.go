package cluster

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

func TestHasCondition(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`:                               false,
		`{"status": {"conditions": null}}`: false,
		`{"status": {"conditions": []}}`:   false,
		`{"status": {"conditions": [{"type": "NamesAccepted", "status": "True"}]}}`:                                            false,
		`{"status": {"conditions": [{"type": "Established", "status": "False"}]}}`:                                             false,
		`{"status": {"conditions": [{"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": "True"}]}}`: true,
	} {
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(text), &object.Object); err != nil {
			t.Fatal(err)
		}
		if got := hasCondition(object, "Established"); got != want {
			t.Errorf("hasCondition(%s) = %t, want %t", text, got, want)
		}
	}
}

// serving returns a client of an API server that gives one answer.
func serving(t *testing.T, answer string) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if _, err := w.Write([]byte(answer)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	c, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClient_LeaseTakenSince(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 6007, time.UTC)
	for name, tc := range map[string]struct {
		spec string
		want bool
	}{
		"taken before":              {spec: `{"holderIdentity": "x", "acquireTime": "2026-01-02T03:04:05.000005Z"}`},
		"taken in that microsecond": {spec: `{"holderIdentity": "x", "acquireTime": "2026-01-02T03:04:05.000006Z"}`, want: true},
		"taken later":               {spec: `{"holderIdentity": "x", "acquireTime": "2026-01-02T03:04:06.000000Z"}`, want: true},
		"given back":                {spec: `{"holderIdentity": "", "acquireTime": "2026-01-02T03:04:06.000000Z"}`},
		"never taken":               {spec: `{}`},
	} {
		c := serving(t, `{"apiVersion": "coordination.k8s.io/v1", "kind": "LeaseList", "items": [
			{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "x"}, "spec": `+tc.spec+`}]}`)
		if got, err := c.LeaseTakenSince(t.Context(), "namespace", since); err != nil || got != tc.want {
			t.Errorf("%s: LeaseTakenSince() = %t, %v, want %t", name, got, err, tc.want)
		}
	}
}

func TestClient_Token(t *testing.T) {
	c := serving(t, `{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "status": {"token": "secret"}}`)
	if got, err := c.Token(t.Context(), "namespace", "account", time.Hour); err != nil || got != "secret" {
		t.Errorf("Token() = %q, %v", got, err)
	}
	c = serving(t, `{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}`)
	if _, err := c.Token(t.Context(), "namespace", "account", time.Hour); err == nil {
		t.Error("Token() of an answer without one succeeded")
	}
}

func TestPoll(t *testing.T) {
	errBoom := errors.New("boom")
	if err := poll(t.Context(), func() (bool, error) { return false, errBoom }); !errors.Is(err, errBoom) {
		t.Errorf("poll() = %v, want %v", err, errBoom)
	}
	calls := 0
	if err := poll(t.Context(), func() (bool, error) { calls++; return calls == 3, nil }); err != nil || calls != 3 {
		t.Errorf("poll() = %v after %d calls, want nil after 3", err, calls)
	}
}
