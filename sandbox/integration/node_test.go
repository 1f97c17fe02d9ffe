package integration

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// asked is set by `make e2e`, which builds what a node needs.
	asked = "TEAMSPACE_E2E"
	// nodeStart is for the control plane, the node and the import of an image.
	nodeStart = 4 * time.Minute
	// nodeStop is within which the sandbox with its node has ended: ten seconds for the control
	// plane, as promised, and what the kernel needs to take the rest down.
	nodeStop = 2 * stopDeadline
	// goneDeadline is for the kernel, which takes namespaces down in its own time.
	goneDeadline = 30 * time.Second
)

// TestNode is one story, because a machine has one node and a start takes long: a node runs
// pods and enforces policies, is ended in every way, and goes on in its directory. Whatever
// ended it, the machine is as it was.
func TestNode(t *testing.T) {
	if os.Getenv(asked) == "" {
		t.Skip("a node needs programs that take minutes to build, Linux and root: `make e2e` runs this test")
	}
	if _, stderr, err := run(t, binary(t, "sandbox"), "node", "check"); err != nil {
		t.Fatalf("no node can run here: %s", stderr)
	}
	dir := t.TempDir()
	before := look(t)

	s := startNode(t, dir)
	if left := look(t).since(before); !seen(left, "+ link: ", "+ cgroup: ", "+ file: /run/", "+ namespace: pid", "+ namespace: net", "+ namespace: mnt") {
		t.Errorf("of a node that runs there is to be seen only:\n%s", strings.Join(left, "\n"))
	}
	t.Run("there can be one only", func(t *testing.T) { testSecondNode(t, s) })
	t.Run("down leaves a node that runs alone", func(t *testing.T) { testDownInUse(t, s) })
	s.runPods("first", "second")
	t.Run("policies are enforced", func(t *testing.T) { testPolicies(t, s) })
	s.endNode(syscall.SIGTERM, 0)
	wantAsBefore(t, before, "a clean stop")

	s = startNode(t, dir)
	s.awaitPods("first", "second")
	s.endNode(syscall.SIGKILL, -1)
	awaitNoProcess(t, before)
	if left := look(t).since(before); !seen(left, "+ cgroup: ") {
		t.Errorf("SIGKILL has left nothing to clean up, so that the next start shows nothing:\n%s", strings.Join(left, "\n"))
	}

	// The next one cleans up, and the pods are the same.
	s = startNode(t, dir)
	s.awaitPods("first", "second")
	s.endNode(syscall.SIGKILL, -1)
	awaitNoProcess(t, before)
	if _, stderr, err := run(t, binary(t, "sandbox"), "down"); err != nil {
		t.Errorf("down: %v\n%s", err, stderr)
	}
	wantAsBefore(t, before, "SIGKILL and down")
	if _, stderr, err := run(t, binary(t, "sandbox"), "down"); err != nil {
		t.Errorf("down where there is nothing to do: %v\n%s", err, stderr)
	}
}

// startNode starts a sandbox with a node and returns when it is ready.
func startNode(t *testing.T, dir string) *sandbox {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, "ready")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	s := launch(t, dir, "up", "--node")
	s.awaitReady(nodeStart)
	return s
}

// endNode ends the sandbox by a signal to all of its group.
func (s *sandbox) endNode(by syscall.Signal, code int) {
	s.t.Helper()
	s.signal(by)
	select {
	case <-s.done:
	case <-time.After(nodeStop):
		s.t.Fatalf("the sandbox has not ended within %s:\n%s", nodeStop, s.stderr)
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit code after %s = %d, want %d:\n%s", by, got, code, s.stderr)
	}
}

// seen reports whether there is something that begins with each of the words.
func seen(all []string, words ...string) bool {
	for _, word := range words {
		if !slices.ContainsFunc(all, func(one string) bool { return strings.HasPrefix(one, word) }) {
			return false
		}
	}
	return true
}

// wantAsBefore: nothing has come and nothing has gone. The kernel may still be at it.
func wantAsBefore(t *testing.T, before traces, after string) {
	t.Helper()
	eventually(t, goneDeadline, "after "+after+" the machine is as it was before the node", func() error {
		if left := look(t).since(before); len(left) > 0 {
			return fmt.Errorf("it differs:\n%s", strings.Join(left, "\n"))
		}
		return nil
	})
}

// awaitNoProcess: all that the kernel takes down with the first process has gone.
func awaitNoProcess(t *testing.T, before traces) {
	t.Helper()
	eventually(t, goneDeadline, "nothing of the node runs", func() error {
		left := look(t).since(before)
		for _, word := range []string{"+ namespace: ", "+ link: ", "+ mount: ", "+ nft: ", "+ ipset: "} {
			if seen(left, word) {
				return fmt.Errorf("there is still:\n%s", strings.Join(left, "\n"))
			}
		}
		return nil
	})
}

// testSecondNode: another one is refused, and the error says who has it.
func testSecondNode(t *testing.T, s *sandbox) {
	_, stderr, err := run(t, binary(t, "sandbox"), "up", "--node", "--dir", filepath.Join(t.TempDir(), "another"))
	if exitCode(err) != 1 || !strings.Contains(stderr, "process "+itoa(s.cmd.Process.Pid)) || !strings.Contains(stderr, "one only") {
		t.Errorf("a second node: %v, want exit code 1 and the process of the first:\n%s", err, stderr)
	}
	s.mustKubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=30s")
}

// testDownInUse: what is in use is not taken back.
func testDownInUse(t *testing.T, s *sandbox) {
	before := look(t)
	_, stderr, err := run(t, binary(t, "sandbox"), "down")
	if exitCode(err) != 1 || !strings.Contains(stderr, "process "+itoa(s.cmd.Process.Pid)) {
		t.Errorf("down: %v, want exit code 1 and the process:\n%s", err, stderr)
	}
	for _, change := range look(t).since(before) {
		if strings.HasPrefix(change, "- cgroup: ") || strings.HasPrefix(change, "- link: ") || strings.HasPrefix(change, "- file: ") {
			t.Errorf("down has taken something from a node that runs: %s", change)
		}
	}
}

// runPods runs pods that do nothing, of the one image that every node has.
func (s *sandbox) runPods(names ...string) {
	s.t.Helper()
	s.mustKubectl("get", "namespace", "default")
	eventually(s.t, worldDeadline, "the namespace has its service account", func() error {
		_, err := s.kubectl("get", "serviceaccount", "default")
		return err
	})
	for _, name := range names {
		s.mustKubectl("run", name, "--image=localhost/pause:1", "--image-pull-policy=Never", "--labels=name="+name)
	}
	s.awaitPods(names...)
}

// awaitPods waits until the pods run, in containers of this start of the node.
func (s *sandbox) awaitPods(names ...string) {
	s.t.Helper()
	for _, name := range names {
		eventually(s.t, worldDeadline, "pod "+name+" runs", func() error {
			if _, err := s.kubectl("wait", "--for=condition=Ready", "pod/"+name, "--timeout=1s"); err != nil {
				return err
			}
			_, err := s.processOf(name)
			return err
		})
	}
}

// processOf is a process of the pod, as the machine sees it.
func (s *sandbox) processOf(pod string) (string, error) {
	s.t.Helper()
	id, err := s.kubectl("get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[0].containerID}")
	if err != nil {
		return "", err
	}
	_, id, _ = strings.Cut(id, "://")
	files, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil || id == "" {
		return "", fmt.Errorf("pod %s has the container %q: %w", pod, id, err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), id) {
			return filepath.Base(filepath.Dir(file)), nil
		}
	}
	return "", fmt.Errorf("no process is in the container %s of pod %s", id, pod)
}
