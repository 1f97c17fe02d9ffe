package world

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// Component is a part of a world that can be stopped and started.
type Component string

// The components.
const (
	Etcd              Component = "etcd"
	APIServer         Component = "kube-apiserver"
	ControllerManager Component = "kube-controller-manager"
	Manager           Component = "manager"
)

// Stop stops a component for the rest of the test, and returns when it is gone. A
// test that is parallel must not do this.
func (w *World) Stop(t testing.TB, c Component) {
	t.Helper()
	w.mustSandbox(t, "stop", c)
	t.Cleanup(func() {
		// Starting what runs already is harmless, and the next test finds all there.
		if err := w.sandbox(context.WithoutCancel(t.Context()), "start", c); err != nil {
			t.Error(err)
		}
	})
}

// Start starts a component and returns when it serves.
func (w *World) Start(t testing.TB, c Component) {
	t.Helper()
	w.mustSandbox(t, "start", c)
}

// Restart stops a component, starts it, and returns when it serves.
func (w *World) Restart(t testing.TB, c Component) {
	t.Helper()
	w.mustSandbox(t, "restart", c)
}

// StopForGood stops a component for the rest of the world.
func (w *World) StopForGood(ctx context.Context, c Component) error {
	return w.sandbox(ctx, "stop", c)
}

func (w *World) mustSandbox(t testing.TB, verb string, c Component) {
	t.Helper()
	if err := w.sandbox(t.Context(), verb, c); err != nil {
		t.Fatal(err)
	}
}

func (w *World) sandbox(ctx context.Context, verb string, c Component) error {
	out, err := exec.CommandContext(ctx, w.binary("sandbox"), verb, "--dir="+w.Dir, string(c)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("asking the sandbox to %s %s: %w\n%s", verb, c, err, out)
	}
	return nil
}

// Answer is what kubectl printed, both streams in one, and how it ended.
type Answer struct {
	Out  string
	Code int
}

// Kubectl runs kubectl as administrator.
func (w *World) Kubectl(t testing.TB, args ...string) Answer {
	t.Helper()
	return w.KubectlWith(t, "", args...)
}

// KubectlWith runs kubectl as administrator with a text on its standard input, which
// is what -f - reads.
func (w *World) KubectlWith(t testing.TB, stdin string, args ...string) Answer {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), w.binary("kubectl"), append([]string{"--kubeconfig=" + w.kubeconfig()}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatalf("running kubectl: %v", err)
	}
	return Answer{Out: string(out), Code: cmd.ProcessState.ExitCode()}
}

// MustKubectl runs kubectl as administrator, fails the test if it fails, and returns
// what it printed.
func (w *World) MustKubectl(t testing.TB, args ...string) string {
	t.Helper()
	answer := w.Kubectl(t, args...)
	if answer.Code != 0 {
		t.Fatalf("kubectl %s: exit code %d\n%s", strings.Join(args, " "), answer.Code, answer.Out)
	}
	return answer.Out
}
