package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
		if err := w.TryStart(context.WithoutCancel(t.Context()), c); err != nil {
			t.Error(err)
		}
	})
}

// Kill ends a component by SIGKILL, returns when it is gone, and says whether there was
// anything to kill. The test has to start it again.
func (w *World) Kill(t testing.TB, c Component) bool {
	t.Helper()
	said := w.mustSandbox(t, "stop", c, "--kill")
	return !strings.Contains(said, "was stopped already")
}

// TryStart starts a component, and returns when it serves or somebody else has stopped it
// meanwhile. It may be called beside the test.
func (w *World) TryStart(ctx context.Context, c Component) error {
	_, err := w.sandbox(ctx, "start", c)
	return err
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
	_, err := w.sandbox(ctx, "stop", c)
	return err
}

func (w *World) mustSandbox(t testing.TB, verb string, c Component, flags ...string) (said string) {
	t.Helper()
	said, err := w.sandbox(t.Context(), verb, c, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func (w *World) sandbox(ctx context.Context, verb string, c Component, flags ...string) (said string, err error) {
	args := append([]string{verb, "--dir=" + w.Dir, string(c)}, flags...)
	out, err := exec.CommandContext(ctx, w.Binary("sandbox"), args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("asking the sandbox to %s %s: %w\n%s", verb, c, err, out)
	}
	return string(out), nil
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
	cmd := exec.CommandContext(t.Context(), w.Binary("kubectl"), append([]string{"--kubeconfig=" + w.Kubeconfig()}, args...)...)
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

// MustShell runs a script that calls kubectl, as administrator, and fails the test if any
// line of it fails.
func (w *World) MustShell(t testing.TB, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-e")
	cmd.Stdin = strings.NewReader(script)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.Kubeconfig(), "PATH="+w.Binary("")+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("running a script: %v\n%s\n%s", err, out, script)
	}
}

// Report is what the plugin printed, and how it ended.
type Report struct {
	Out, Err string
	Code     int
}

// Plugin runs kubectl-teamspace as administrator.
func (w *World) Plugin(t testing.TB, args ...string) Report {
	t.Helper()
	return w.PluginWith(t, nil, args...)
}

// PluginWith runs kubectl-teamspace with a standard input.
func (w *World) PluginWith(t testing.TB, in io.Reader, args ...string) Report {
	t.Helper()
	var out, errOut strings.Builder
	cmd := exec.CommandContext(t.Context(), w.Binary("kubectl-teamspace"), append([]string{"--kubeconfig=" + w.Kubeconfig()}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &errOut
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatalf("running kubectl-teamspace: %v", err)
	}
	return Report{Out: out.String(), Err: errOut.String(), Code: cmd.ProcessState.ExitCode()}
}

// MustPlugin runs kubectl-teamspace as administrator, fails the test unless it ends with
// the code, and returns what it printed on its standard output.
func (w *World) MustPlugin(t testing.TB, code int, args ...string) string {
	t.Helper()
	report := w.Plugin(t, args...)
	if report.Code != code {
		t.Fatalf("kubectl-teamspace %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), report.Code, code, report.Out, report.Err)
	}
	return report.Out
}
