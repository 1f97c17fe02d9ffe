package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"labhub.io/teamspace/sandbox/process"
)

// fake records commands and answers as told.
type fake struct {
	got  []Command
	note string
	err  error
}

func (f *fake) Status() []process.Status {
	return []process.Status{{Name: "etcd", State: process.Running, PID: 7, Addresses: map[string]string{"client": "127.0.0.1:1"}}}
}

func (f *fake) Do(_ context.Context, c Command) (string, error) {
	f.got = append(f.got, c)
	return f.note, f.err
}

// serve opens an endpoint in a folder until the test ends.
func serve(t *testing.T, f *fake) (dir string, server *Server) {
	t.Helper()
	dir = t.TempDir()
	server, err := Serve(dir, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return dir, server
}

// connect finds the sandbox in the folder.
func connect(t *testing.T, dir string) *Client {
	t.Helper()
	c, err := Connect(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClient_CommandAndStatus(t *testing.T) {
	f := &fake{note: "etcd is stopped"}
	dir, _ := serve(t, f)
	c := connect(t, dir)
	command := Command{Action: Stop, Component: "etcd", Kill: true}
	note, err := c.Do(t.Context(), command)
	if err != nil || note != f.note {
		t.Errorf("Do() = %q, %v, want %q", note, err, f.note)
	}
	if diff := cmp.Diff([]Command{command}, f.got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	status, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f.Status(), status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestClient_PassesErrorsOn(t *testing.T) {
	dir, _ := serve(t, &fake{err: &UnknownComponentError{Name: "kubelet", Known: []string{"etcd", "kube-apiserver"}}})
	_, err := connect(t, dir).Do(t.Context(), Command{Action: Stop, Component: "kubelet"})
	if err == nil || !strings.Contains(err.Error(), "etcd, kube-apiserver") {
		t.Errorf("Do() = %v, want an error that lists the components", err)
	}
}

func TestConnect_NoSandbox(t *testing.T) {
	dir := t.TempDir()
	_, err := Connect(dir)
	if e, ok := errors.AsType[*NotRunningError](err); !ok || e.Dir != dir {
		t.Errorf("Connect() = %v, want a NotRunningError", err)
	}
}

func TestClient_SandboxThatWasKilled(t *testing.T) {
	dir, server := serve(t, &fake{})
	contact, err := os.ReadFile(contactFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	if _, err := Connect(dir); err == nil {
		t.Error("Connect() after Close succeeded")
	}
	if err := os.WriteFile(contactFile(dir), contact, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = connect(t, dir).Status(t.Context())
	if _, ok := errors.AsType[*NotRunningError](err); !ok {
		t.Errorf("Status() = %v, want a NotRunningError", err)
	}
}

func TestServer_RefusesOthers(t *testing.T) {
	f := &fake{}
	dir, _ := serve(t, f)
	info, err := os.Stat(contactFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the token has mode %o, want 600", info.Mode().Perm())
	}
	for name, header := range map[string]string{"no token": "", "another token": "Bearer x", "no scheme": connect(t, dir).contact.Token} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+connect(t, dir).contact.Address+"/command", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", header)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: status %s, want 401", name, response.Status)
		}
	}
	if len(f.got) != 0 {
		t.Errorf("commands were carried out: %v", f.got)
	}
}

func TestClient_TokenOfAnotherSandbox(t *testing.T) {
	dir, _ := serve(t, &fake{})
	other := connect(t, dir).contact
	other.Token = "another"
	data, err := json.Marshal(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(contactFile(dir), data, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = connect(t, dir).Status(t.Context())
	if _, ok := errors.AsType[*NotRunningError](err); !ok {
		t.Errorf("Status() = %v, want a NotRunningError", err)
	}
}
