package pki

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// issued is an authority with a leaf, as made or found in a folder.
type issued struct{ ca, leaf *Pair }

// open makes or finds both in the folder, at that time.
func open(t *testing.T, folder string, now time.Time) issued {
	t.Helper()
	s, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	s.now = func() time.Time { return now }
	var i issued
	if i.ca, err = s.Authority("ca", "test-ca"); err != nil {
		t.Fatal(err)
	}
	i.leaf, err = s.Issue(i.ca, "leaf", Identity{Name: "user", Groups: []string{"group"}, Hosts: []string{"localhost", "127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestStore_LeafIsGoodForClientAndServer(t *testing.T) {
	i := open(t, t.TempDir(), time.Now())
	roots := x509.NewCertPool()
	roots.AddCert(i.ca.cert)
	for name, options := range map[string]x509.VerifyOptions{
		"client":            {KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
		"server by name":    {DNSName: "localhost", KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}},
		"server by address": {DNSName: "127.0.0.1", KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}},
	} {
		options.Roots = roots
		if _, err := i.leaf.cert.Verify(options); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff([]string{"group"}, i.leaf.cert.Subject.Organization); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestStore_UsesAgainWhatIsGood(t *testing.T) {
	now := time.Now()
	for name, tc := range map[string]struct {
		spoil            func(t *testing.T, folder string)
		later            time.Duration
		wantCA, wantLeaf bool
	}{
		"untouched":                  {wantCA: true, wantLeaf: true},
		"years later":                {later: 9 * 365 * 24 * time.Hour, wantCA: true, wantLeaf: true},
		"about to expire":            {later: lifetime - time.Hour},
		"leaf's key is gone":         {spoil: remove("leaf.key"), wantCA: true},
		"leaf's certificate is gone": {spoil: remove("leaf.crt"), wantCA: true},
		"authority is gone":          {spoil: remove("ca.crt")},
		"leaf is garbage":            {spoil: write("leaf.crt"), wantCA: true},
		"leaf's key is garbage":      {spoil: write("leaf.key"), wantCA: true},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			before := open(t, folder, now)
			if tc.spoil != nil {
				tc.spoil(t, folder)
			}
			after := open(t, folder, now.Add(tc.later))
			if got := before.ca.cert.Equal(after.ca.cert); got != tc.wantCA {
				t.Errorf("same authority = %t, want %t", got, tc.wantCA)
			}
			if got := before.leaf.cert.Equal(after.leaf.cert); got != tc.wantLeaf {
				t.Errorf("same leaf = %t, want %t", got, tc.wantLeaf)
			}
			if err := after.leaf.cert.CheckSignatureFrom(after.ca.cert); err != nil {
				t.Errorf("the leaf is not the authority's: %v", err)
			}
		})
	}
}

// remove returns a function that removes a file.
func remove(file string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		if err := os.Remove(filepath.Join(folder, file)); err != nil {
			t.Fatal(err)
		}
	}
}

// write returns a function that overwrites a file with garbage.
func write(file string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		if err := os.WriteFile(filepath.Join(folder, file), []byte("garbage"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStore_OtherHostsNeedAnotherLeaf(t *testing.T) {
	folder := t.TempDir()
	before := open(t, folder, time.Now())
	s, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := s.Issue(before.ca, "leaf", Identity{Name: "user", Groups: []string{"group"}, Hosts: []string{"elsewhere"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := leaf.cert.VerifyHostname("elsewhere"); err != nil {
		t.Error(err)
	}
}

func TestStore_SigningKeyIsKept(t *testing.T) {
	folder := t.TempDir()
	var private, public [2]string
	for i := range 2 {
		s, err := Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		key, err := s.SigningKey("accounts")
		if err != nil {
			t.Fatal(err)
		}
		private[i], public[i] = read(t, key.PrivateFile), read(t, key.PublicFile)
	}
	if private[0] != private[1] || public[0] != public[1] {
		t.Error("the second key differs from the first")
	}
}

func TestStore_KeysAreForTheOwnerAlone(t *testing.T) {
	folder := t.TempDir()
	open(t, folder, time.Now())
	for _, file := range []string{"ca.key", "leaf.key"} {
		info, err := os.Stat(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o, want 600", file, info.Mode().Perm())
		}
	}
}

// read returns a file's text.
func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
