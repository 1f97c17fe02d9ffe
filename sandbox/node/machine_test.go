package node

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// elsewhere is a machine in a folder, with one setting and two hierarchies of cgroups.
func elsewhere(t *testing.T) (file, root string) {
	t.Helper()
	root = t.TempDir()
	write(t, filepath.Join(root, "proc/sys/kernel/panic"), "0")
	for _, controller := range []string{"cpu", "memory"} {
		write(t, filepath.Join(root, cgroupRoot, controller, "cgroup.procs"), "")
	}
	return filepath.Join(root, "state.json"), root
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustTake(t *testing.T, file, root string) *machine {
	t.Helper()
	m, err := take(file, root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.release)
	return m
}

func absent(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// TestMachine_CrashIsCleanedByTheNext: what a node made and changed is as it was after the
// next one's clean, and what was there before stays.
func TestMachine_CrashIsCleanedByTheNext(t *testing.T) {
	file, root := elsewhere(t)
	write(t, filepath.Join(root, "var/log/pods/of-another"), "")
	crashed := mustTake(t, file, root)
	if err := crashed.prepare(); err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if absent(filepath.Join(root, folder)) {
			t.Errorf("%s is not there for the node", folder)
		}
	}
	write(t, filepath.Join(root, "proc/sys/kernel/panic"), "10") // as a kubelet does
	for _, controller := range []string{"cpu", "memory"} {
		if err := os.MkdirAll(filepath.Join(root, cgroupRoot, controller, cgroup, "kubepods", "pod1"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	crashed.release() // as the kernel does

	next := mustTake(t, file, root)
	if err := next.clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if want := folder != "/var/log/pods"; absent(filepath.Join(root, folder)) != want {
			t.Errorf("%s is gone: %t, want %t", folder, !want, want)
		}
	}
	if value, err := os.ReadFile(filepath.Join(root, "proc/sys/kernel/panic")); err != nil || string(value) != "0" {
		t.Errorf("kernel/panic = %q, %v, want what it was", value, err)
	}
	for _, controller := range []string{"cpu", "memory"} {
		if !absent(filepath.Join(root, cgroupRoot, controller, cgroup)) {
			t.Errorf("the cgroup of %s is still there", controller)
		}
	}
	if len(next.Folders) != 0 || len(next.Settings) != 0 {
		t.Errorf("there is still to do: %+v", next.state)
	}
}

// TestMachine_FolderInUse: a folder that somebody else has put something into stays.
func TestMachine_FolderInUse(t *testing.T) {
	file, root := elsewhere(t)
	m := mustTake(t, file, root)
	if err := m.prepare(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "var/lib/cni/of-another"), "")
	if err := m.clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	if absent(filepath.Join(root, "var/lib/cni/of-another")) {
		t.Error("what somebody else has made is gone")
	}
}

func TestMachine_RecordsBeforeItChanges(t *testing.T) {
	file, root := elsewhere(t)
	write(t, filepath.Join(root, "var/lib"), "a file, so that no folder can be made in it")
	m := mustTake(t, file, root)
	if err := m.prepare(); err == nil {
		t.Fatal("a folder was made below a file")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var recorded state
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(recorded.Folders, "/run/containerd") || recorded.Settings["kernel/panic"] != "0" {
		t.Errorf("recorded = %+v", recorded)
	}
}

func TestTake_OneNodeOnly(t *testing.T) {
	file, root := elsewhere(t)
	m := mustTake(t, file, root)
	if err := m.prepare(); err != nil {
		t.Fatal(err)
	}
	_, err := take(file, root)
	if used, ok := errors.AsType[*InUseError](err); !ok || used.PID != os.Getpid() {
		t.Errorf("take() = %v, want an InUseError of this process", err)
	}
}

func TestCheckRange(t *testing.T) {
	for text, wantRefused := range map[string]bool{
		"192.168.1.2/24": false, "10.213.7.1/24": true, "10.0.0.1/8": true, "10.212.0.1/16": false, "fe80::1/64": false,
	} {
		address, network, err := net.ParseCIDR(text)
		if err != nil {
			t.Fatal(err)
		}
		network.IP = address
		err = checkRange([]net.Addr{network})
		if _, refused := errors.AsType[*RefusalError](err); refused != wantRefused {
			t.Errorf("checkRange(%s) = %v, want refused: %t", text, err, wantRefused)
		}
	}
}

func TestRefuse(t *testing.T) {
	for _, tc := range []struct {
		system string
		user   int
		want   string
	}{{"linux", 0, ""}, {"linux", 1000, "needs root"}, {"darwin", 0, "needs Linux"}} {
		err := refuse(tc.system, tc.user)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("refuse(%s, %d) = %v, want %q", tc.system, tc.user, err, tc.want)
		}
	}
}
