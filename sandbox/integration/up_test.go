package integration

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"labhub.io/teamspace/sandbox/process"
)

// components are those of a control plane, in the order of their start.
var components = []string{"etcd", "kube-apiserver", "kube-controller-manager"}

func itoa(i int) string { return strconv.Itoa(i) }

// pids are the processes of the sandbox.
func (s *sandbox) pids() []int {
	s.t.Helper()
	var all []int
	for _, status := range s.status() {
		all = append(all, status.PID)
	}
	return all
}

// awaitGone waits until none of the processes runs.
func awaitGone(t *testing.T, pids []int) {
	t.Helper()
	eventually(t, 5*time.Second, "no process of the sandbox runs", func() error {
		for _, pid := range pids {
			if alive(pid) {
				return fmt.Errorf("process %d runs", pid)
			}
		}
		return nil
	})
}

// absent fails the test if the file exists.
func absent(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is there: %v", path, err)
	}
}

// TestUp is one story, because each start of a control plane takes seconds: a
// sandbox is used, ended in every way there is, and goes on in its directory.
func TestUp(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made by the sandbox")
	s := start(t, dir, "up")

	t.Run("kubeconfig is the administrator's and for the owner alone", func(t *testing.T) {
		info, err := os.Stat(filepath.Join(dir, "kubeconfig"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("kubeconfig: %v, %v, want mode 600", info, err)
		}
		if got := s.mustKubectl("auth", "can-i", "*", "*"); got != "yes" {
			t.Errorf("can-i * * = %s", got)
		}
	})
	t.Run("versions can be parsed", func(t *testing.T) {
		out := s.mustKubectl("version")
		if strings.Count(out, ": v1.37.2") != 2 {
			t.Errorf("kubectl version:\n%s", out)
		}
	})
	t.Run("every namespace has its default service account", func(t *testing.T) {
		s.mustKubectl("get", "serviceaccount", "default", "-n", "default")
		s.mustKubectl("create", "namespace", "fresh")
		eventually(t, worldDeadline, "the service account is there", func() error {
			_, err := s.kubectl("get", "serviceaccount", "default", "-n", "fresh")
			return err
		})
	})
	t.Run("the directory is in use", func(t *testing.T) {
		_, stderr, err := s.run("up")
		if exitCode(err) != 1 || !strings.Contains(stderr, dir) || !strings.Contains(stderr, itoa(s.cmd.Process.Pid)) {
			t.Errorf("a second up: %v, want exit code 1 and an error with directory and process:\n%s", err, stderr)
		}
		s.mustKubectl("get", "namespaces")
		if _, err := os.Stat(filepath.Join(dir, "ready")); err != nil {
			t.Errorf("the ready file of the first is gone: %v", err)
		}
	})
	t.Run("components stop and start", func(t *testing.T) { testComponents(t, s) })
	t.Run("unknown component", func(t *testing.T) {
		_, stderr, err := s.run("stop", "kubelet")
		if exitCode(err) != 1 || !strings.Contains(stderr, strings.Join(components, ", ")) {
			t.Errorf("stop kubelet: %v, want exit code 1 and the components:\n%s", err, stderr)
		}
	})

	s.mustKubectl("create", "configmap", "kept")
	pids := s.pids()
	s.signal(syscall.SIGTERM)
	if code := s.awaitEnd(); code != 0 {
		t.Errorf("exit code after SIGTERM = %d, want 0", code)
	}
	awaitGone(t, pids)
	absent(t, filepath.Join(dir, "ready"))
	if _, stderr, err := s.run("status"); exitCode(err) != 1 || !strings.Contains(stderr, dir) {
		t.Errorf("status of what has ended: %v, want exit code 1 and the directory:\n%s", err, stderr)
	}

	before := readFile(t, filepath.Join(dir, "kubeconfig"))
	s = start(t, dir, "up")
	if got := readFile(t, filepath.Join(dir, "kubeconfig")); got != before {
		t.Error("the kubeconfig has changed over the restart")
	}
	s.mustKubectl("get", "configmap", "kept")
	pids = s.pids()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.awaitEnd()
	awaitGone(t, pids)

	s = start(t, dir, "up")
	s.mustKubectl("get", "configmap", "kept")
	testDeath(t, s)
}

// testComponents stops and starts every component, and everything at once.
func testComponents(t *testing.T, s *sandbox) {
	before := s.status()
	for _, name := range components {
		s.mustRun("stop", name)
		if got := s.status()[name]; got.State != process.Stopped || alive(before[name].PID) {
			t.Errorf("%s after stop: %+v", name, got)
		}
		if _, stderr := s.mustRun("stop", name); !strings.Contains(stderr, "already") {
			t.Errorf("a second stop of %s says %q", name, stderr)
		}
	}
	for _, name := range components {
		s.mustRun("start", name)
		if _, stderr := s.mustRun("start", name); !strings.Contains(stderr, "already") {
			t.Errorf("a second start of %s says %q", name, stderr)
		}
	}
	s.mustKubectl("get", "namespaces")
	for _, args := range [][]string{{"etcd"}, {"kube-apiserver"}, {"--kill", "kube-controller-manager"}, {"--kill", "etcd"}} {
		s.mustRun(append([]string{"restart"}, args...)...)
	}
	s.mustKubectl("get", "namespaces")
	after := s.status()
	for _, name := range components {
		if after[name].State != process.Running || after[name].PID == before[name].PID {
			t.Errorf("%s after restart: %+v, before: %+v", name, after[name], before[name])
		}
		for what, address := range before[name].Addresses {
			if after[name].Addresses[what] != address {
				t.Errorf("%s has moved from %s to %s", name, address, after[name].Addresses[what])
			}
		}
	}
}

// testDeath kills a component behind the sandbox's back.
func testDeath(t *testing.T, s *sandbox) {
	pids, victim := s.pids(), s.status()["kube-controller-manager"].PID
	if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code := s.awaitEnd(); code != 1 {
		t.Errorf("exit code after the death of a component = %d, want 1", code)
	}
	said := s.stderr.String()
	for _, want := range []string{"kube-controller-manager ended unexpectedly (signal: killed)", "kube-controller-manager.log:\n    "} {
		if !strings.Contains(said, want) {
			t.Errorf("the sandbox does not say %q:\n%s", want, said)
		}
	}
	awaitGone(t, pids)
	absent(t, filepath.Join(s.dir, "ready"))
}

// TestUp_StopsWithoutEtcd: a kube-apiserver waits for etcd in its shutdown, and
// must not be waited for.
func TestUp_StopsWithoutEtcd(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "up")
	pids := s.pids()
	s.mustRun("stop", "--kill", "etcd")
	s.signal(syscall.SIGINT)
	if code := s.awaitEnd(); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	awaitGone(t, pids)
}

func TestUp_EndsWhileItStarts(t *testing.T) {
	t.Parallel()
	s := launch(t, t.TempDir(), "up")
	eventually(t, startDeadline, "etcd serves", func() error {
		if !strings.Contains(s.stderr.String(), "etcd serves") {
			return errors.New("not yet")
		}
		return nil
	})
	s.signal(syscall.SIGTERM)
	if code := s.awaitEnd(); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	absent(t, filepath.Join(s.dir, "ready"))
}

func TestUp_Errors(t *testing.T) {
	t.Parallel()
	sandboxAlone := filepath.Join(t.TempDir(), "sandbox")
	if err := os.Link(binary(t, "sandbox"), sandboxAlone); err != nil {
		if err := os.WriteFile(sandboxAlone, []byte(readFile(t, binary(t, "sandbox"))), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, taken, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	noNode := "`make sandbox` builds it, with NODE=1"
	switch {
	case runtime.GOOS != "linux":
		noNode = "it needs Linux"
	case os.Getuid() != 0:
		noNode = "it needs root"
	}
	for name, tc := range map[string]struct {
		path string
		args []string
		code int
		want []string
	}{
		"a missing binary":        {path: sandboxAlone, args: []string{"--dir", t.TempDir()}, code: 1, want: []string{"etcd", filepath.Dir(sandboxAlone), "make sandbox"}},
		"a port in use":           {args: []string{"--dir", t.TempDir(), "--port", taken}, code: 1, want: []string{"127.0.0.1:" + taken, "in use"}},
		"a file as directory":     {args: []string{"--dir", file}, code: 1, want: []string{file}},
		"no directory":            {code: 2, want: []string{"--dir"}},
		"a node that is not here": {path: sandboxAlone, args: []string{"--dir", t.TempDir(), "--node"}, code: 1, want: []string{noNode}},
		"an image without a node": {args: []string{"--dir", t.TempDir(), "--image", file}, code: 2, want: []string{"--node"}},
		"an unknown flag":         {args: []string{"--unknown"}, code: 2, want: []string{"--unknown", "--help"}},
		"an argument":             {args: []string{"x"}, code: 2, want: []string{`"x"`}},
		"a log without a policy":  {args: []string{"--dir", t.TempDir(), "--audit-log", file}, code: 2, want: []string{"--audit-policy"}},
		"a policy that is absent": {args: []string{"--dir", t.TempDir(), "--audit-policy", "/absent"}, code: 1, want: []string{"kube-apiserver ended unexpectedly", "/absent"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := tc.path
			if path == "" {
				path = binary(t, "sandbox")
			}
			_, stderr, err := run(t, path, append([]string{"up"}, tc.args...)...)
			if exitCode(err) != tc.code {
				t.Errorf("%v, want exit code %d:\n%s", err, tc.code, stderr)
			}
			for _, want := range tc.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("the error lacks %q:\n%s", want, stderr)
				}
			}
		})
	}
}

// readFile returns a file's text.
func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
