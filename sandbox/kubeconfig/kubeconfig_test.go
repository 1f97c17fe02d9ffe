package kubeconfig

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

func TestConfig_Write(t *testing.T) {
	for name, tc := range map[string]struct {
		config        Config
		wantNamespace string
	}{
		"with a certificate": {
			config:        Config{User: "admin", Cert: []byte("cert"), Key: []byte("key")},
			wantNamespace: "default",
		},
		"with a token": {
			config:        Config{User: "manager", Token: "secret", Namespace: "teamspace-system"},
			wantNamespace: "teamspace-system",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.config.Server, tc.config.CA = "https://127.0.0.1:1", []byte("authority")
			path := filepath.Join(t.TempDir(), "kubeconfig")
			if err := tc.config.Write(path); err != nil {
				t.Fatal(err)
			}
			loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&clientcmd.ClientConfigLoadingRules{ExplicitPath: path}, nil)
			rest, err := loader.ClientConfig()
			if err != nil {
				t.Fatal(err)
			}
			namespace, _, err := loader.Namespace()
			if err != nil {
				t.Fatal(err)
			}
			got := Config{
				Server: rest.Host, CA: rest.CAData, Token: rest.BearerToken, Cert: rest.CertData, Key: rest.KeyData,
				User: tc.config.User, Namespace: namespace,
			}
			want := tc.config
			want.Namespace = tc.wantNamespace
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("what a client reads (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfig_WriteReplacesForTheOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (Config{User: "admin"}).Write(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want mode 600", info, err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v (%v), want the file alone", left, err)
	}
}

func TestConfig_WriteError(t *testing.T) {
	err := Config{User: "admin"}.Write(filepath.Join(t.TempDir(), "absent", "kubeconfig"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Write() = %v, want %v", err, fs.ErrNotExist)
	}
}
