package drain

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/helm"
	"labhub.io/teamspace/test/program"
	"labhub.io/teamspace/test/world"
)

// drainUser is the account of the chart's hook.
const drainUser = "system:serviceaccount:teamspace-system:teamspace-drain"

// install makes all that the chart makes, as a user would after whatever happened before:
// what a hook needs too, and no Deployments, whose place the tests' own processes take.
func install(t *testing.T, w *world.World, values ...string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: world.ReleaseNamespace}}
	if err := w.Client.Create(t.Context(), ns); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	args := []string{}
	for _, value := range values {
		args = append(args, "--set="+value)
	}
	var later []client.Object
	for _, object := range helm.Objects(t, helm.Template(t, args...)) {
		switch object.GetKind() {
		case "Deployment", "Job", "Pod", "Service":
		case "Namespace", "CustomResourceDefinition":
			apply(t, w, object)
		default:
			later = append(later, object)
		}
	}
	for _, object := range later {
		apply(t, w, object)
	}
	world.Eventually(t, world.Patience, "TeamSpaces are served", func() error {
		return w.Client.Create(t.Context(), world.TeamSpace("dry", 1, "1"), client.DryRunAll)
	})
}

// installHook makes what the hook needs where the rest is there already.
func installHook(t *testing.T, w *world.World) {
	t.Helper()
	for _, object := range helm.Objects(t, helm.Template(t, "--show-only=templates/drain.yaml")) {
		if object.GetKind() != "Job" {
			apply(t, w, object)
		}
	}
}

func apply(t *testing.T, w *world.World, object client.Object) {
	t.Helper()
	world.Eventually(t, world.Patience, fmt.Sprintf("applying %T %q", object, object.GetName()), func() error {
		object.SetManagedFields(nil)
		object.SetResourceVersion("")
		return w.Client.Patch(t.Context(), object, client.Apply, client.FieldOwner("helm"), client.ForceOwnership) //nolint:staticcheck // objects of any kind, as they were rendered
	})
}

// runController runs the controller as its account, with the lease.
func runController(t *testing.T, w *world.World) *program.Program {
	t.Helper()
	p, err := program.Run(binary(t), "run", "--controllers",
		"--kubeconfig="+w.KubeconfigAs(t, world.ManagerUser), "--release-namespace="+world.ReleaseNamespace,
		"--archive=configmap://"+world.ArchiveNamespace, "--metrics-bind-address=0", "--health-probe-bind-address=0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	world.LogIfFailed(t, p)
	return p
}

// stop ends a controller cleanly: it gives the lease back.
func stop(t *testing.T, p *program.Program) {
	t.Helper()
	if err := p.Stop(world.Patience); err != nil {
		t.Fatal(err)
	}
}

// drained is how a drain ended, and what it said.
type drained struct {
	out  string
	code int
}

// drainTimeout is longer than anything that has to happen in it.
const drainTimeout = 2 * time.Minute

// drainCommand is a drain as a user.
func drainCommand(ctx context.Context, t *testing.T, kubeconfig string, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(ctx, binary(t), append([]string{
		"drain", "--kubeconfig=" + kubeconfig, "--release-namespace=" + world.ReleaseNamespace,
		"--archive=configmap://" + world.ArchiveNamespace, "--timeout=" + drainTimeout.String(),
	}, args...)...)
}

func run(t *testing.T, cmd *exec.Cmd) drained {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatalf("running drain: %v", err)
	}
	return drained{string(out), cmd.ProcessState.ExitCode()}
}

// mustDrain drains with the account of the hook.
func mustDrain(t *testing.T, w *world.World, policy string) {
	t.Helper()
	wantSuccess(t, run(t, drainCommand(t.Context(), t, w.KubeconfigAs(t, drainUser), "--policy="+policy)))
}

// mustDrainByHand drains as administrator.
func mustDrainByHand(t *testing.T, w *world.World, policy string) {
	t.Helper()
	wantSuccess(t, run(t, drainCommand(t.Context(), t, w.Kubeconfig(), "--policy="+policy)))
}

func wantSuccess(t *testing.T, d drained) {
	t.Helper()
	if d.code != 0 {
		t.Fatalf("drain: exit code %d\n%s", d.code, d.out)
	}
}

// killMidway starts a drain, kills it as soon as the condition holds, and says whether it
// was still running then.
func killMidway(t *testing.T, cmd *exec.Cmd, what string, midway func() bool) bool {
	t.Helper()
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	world.Eventually(t, world.Patience, what, func() error {
		select {
		case <-ended:
			return nil
		default:
		}
		if !midway() {
			return errors.New("not yet")
		}
		return nil
	})
	_ = cmd.Process.Signal(syscall.SIGKILL)
	<-ended
	return !cmd.ProcessState.Success()
}

func binary(t *testing.T) string {
	t.Helper()
	root, err := program.Root()
	if err != nil {
		t.Fatal(err)
	}
	path, err := program.Find(root, "manager")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Clean(path)
}
