package controlplane

import (
	"encoding/json"
	"errors"
	"flag"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"labhub.io/teamspace/sandbox/directory"
	"labhub.io/teamspace/sandbox/port"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fakeBinaries returns a folder with executables of those names.
func fakeBinaries(t *testing.T, names ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// prepare prepares a control plane in a folder of its own.
func prepare(t *testing.T, options Options) (*Plane, *directory.Directory) {
	t.Helper()
	dir, err := directory.Acquire(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dir.Release)
	options.Binaries = fakeBinaries(t, Etcd, APIServer, ControllerManager)
	p, err := Prepare(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	return p, dir
}

// TestPlane_Arguments: the flags of the components are the contract with them,
// and a change of one should be seen in a review.
func TestPlane_Arguments(t *testing.T) {
	p, dir := prepare(t, Options{
		AuditPolicy: "/policy",
		Flags: map[string][]string{
			Etcd:              {"quota-backend-bytes=1000"},
			APIServer:         {"event-ttl=2h"},
			ControllerManager: {"--kube-api-qps=20"},
		},
	})
	// What differs from run to run.
	var pairs []string
	for name, address := range map[string]string{
		"ETCD": p.addresses.Etcd, "PEER": p.addresses.EtcdPeer, "APISERVER": p.addresses.APIServer, "KCM": p.addresses.ControllerManager,
	} {
		_, number, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, "127.0.0.1:"+number, "127.0.0.1:"+name, "secure-port="+number, "secure-port="+name)
	}
	pairs = append(pairs, dir.Path(), "DIR")
	replacer := strings.NewReplacer(pairs...)

	for name, args := range map[string][]string{
		Etcd: p.Etcd().Args, APIServer: p.APIServer().Args, ControllerManager: p.ControllerManager().Args,
	} {
		got := replacer.Replace(strings.Join(args, "\n")) + "\n"
		golden := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("arguments of %s, see -update (-want +got):\n%s", name, diff)
		}
	}
}

func TestPlane_StopsWithinTheBudget(t *testing.T) {
	p, _ := prepare(t, Options{})
	total := p.Etcd().Grace + p.APIServer().Grace + p.ControllerManager().Grace
	if total.Seconds() > 8 {
		t.Errorf("the graces add up to %s; with what comes in between the sandbox needs more than ten seconds", total)
	}
}

func TestPrepare_KeepsAddressesAndCertificates(t *testing.T) {
	first, dir := prepare(t, Options{})
	second, err := Prepare(dir, first.options)
	if err != nil {
		t.Fatal(err)
	}
	if first.addresses != second.addresses {
		t.Errorf("addresses = %+v, before: %+v", second.addresses, first.addresses)
	}
	if string(first.CA()) != string(second.CA()) {
		t.Error("the authority has changed")
	}
}

func TestPrepare_MissingBinary(t *testing.T) {
	dir, err := directory.Acquire(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Release()
	_, err = Prepare(dir, Options{Binaries: fakeBinaries(t, Etcd, APIServer)})
	missing, ok := errors.AsType[*MissingBinaryError](err)
	if !ok || filepath.Base(missing.Path) != ControllerManager {
		t.Errorf("Prepare() = %v, want a MissingBinaryError for %s", err, ControllerManager)
	}
}

func TestFindBinaries(t *testing.T) {
	folder := fakeBinaries(t, "good")
	if err := os.WriteFile(filepath.Join(folder, "plain"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := FindBinaries(folder, "good"); err != nil {
		t.Errorf("FindBinaries(good) = %v", err)
	}
	for _, name := range []string{"absent", "plain", "folder"} {
		err := FindBinaries(folder, "good", name)
		if _, ok := errors.AsType[*MissingBinaryError](err); !ok || !strings.Contains(err.Error(), "make sandbox") {
			t.Errorf("FindBinaries(%s) = %v, want a MissingBinaryError that says what to do", name, err)
		}
	}
}

func TestChooseAddresses(t *testing.T) {
	choose := func(t *testing.T, file string, wanted int) addresses {
		t.Helper()
		a, err := chooseAddresses(file, port.Loopback, wanted)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	t.Run("all differ, and are kept", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "addresses")
		first := choose(t, file, 0)
		seen := map[string]bool{first.APIServer: true, first.Etcd: true, first.EtcdPeer: true, first.ControllerManager: true}
		if len(seen) != 4 {
			t.Errorf("addresses = %+v, want four different ones", first)
		}
		if second := choose(t, file, 0); second != first {
			t.Errorf("addresses = %+v, want the same as before, %+v", second, first)
		}
	})
	t.Run("one that is taken meanwhile moves alone", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "addresses")
		first := choose(t, file, 0)
		listener, err := net.Listen("tcp", first.Etcd)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		second := choose(t, file, 0)
		if second.Etcd == first.Etcd || second.APIServer != first.APIServer {
			t.Errorf("addresses = %+v, before: %+v, want another for etcd alone", second, first)
		}
	})
	t.Run("a file that is garbage is like none", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "addresses")
		if err := os.WriteFile(file, []byte("garbage"), 0o600); err != nil {
			t.Fatal(err)
		}
		if a := choose(t, file, 0); a.APIServer == "" {
			t.Errorf("addresses = %+v", a)
		}
	})
	t.Run("a wanted port", func(t *testing.T) {
		free, err := port.NewPicker().Free()
		if err != nil {
			t.Fatal(err)
		}
		_, text, err := net.SplitHostPort(free)
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "addresses")
		if a := choose(t, file, wanted); a.APIServer != free {
			t.Errorf("address = %s, want %s", a.APIServer, free)
		}
		listener, err := net.Listen("tcp", free)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		_, err = chooseAddresses(file, port.Loopback, wanted)
		if inUse, ok := errors.AsType[*port.InUseError](err); !ok || inUse.Address != free {
			t.Errorf("chooseAddresses() = %v, want an InUseError for %s", err, free)
		}
	})
}

func TestWriteAdminKubeconfig(t *testing.T) {
	p, dir := prepare(t, Options{})
	if err := p.WriteAdminKubeconfig(dir.Kubeconfig()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(dir.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
				CA     []byte `json:"certificate-authority-data"`
			} `json:"cluster"`
		} `json:"clusters"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	if got := config.Clusters[0].Cluster; got.Server != p.URL() || string(got.CA) != string(p.CA()) {
		t.Errorf("cluster = %s with %d bytes of CA, want %s and the CA of the plane", got.Server, len(got.CA), p.URL())
	}
}
