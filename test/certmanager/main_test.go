package certmanager

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/program"
	"labhub.io/teamspace/test/world"
)

var lab = &world.Shared{Options: world.Options{Flags: []string{"--set=guard.failurePolicy=Fail"}}, Prepare: prepare}

// playsCertManager, given as the only argument before a kubeconfig, makes this program
// cert-manager: it is stopped and started like any other.
const playsCertManager = "plays-cert-manager"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == playsCertManager {
		ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM) //nolint:forbidigo // it is a program here, and no test
		defer cancel()
		if err := run(ctx, os.Args[2]); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	lab.Run(m)
}

// prepare takes the sandbox's own managers away, and installs the types of cert-manager.
func prepare(ctx context.Context, w *world.World) error {
	if err := w.StopForGood(ctx, world.Manager); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager").Output()
	if err != nil {
		return fmt.Errorf("finding the module of cert-manager: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "deploy", "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("finding the types of cert-manager: %d files, %w", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &crd.Object); err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		if err := w.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(crd), client.FieldOwner("cert-manager")); err != nil {
			return fmt.Errorf("installing %s: %w", crd.GetName(), err)
		}
	}
	return nil
}

// manager is cert-manager as a process.
type manager struct {
	program *program.Program
	stopped bool
}

// start starts cert-manager, and ends it with the test that is the whole story.
func start(t *testing.T, w *world.World) *manager {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := program.Run(self, playsCertManager, filepath.Join(w.Dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	return &manager{program: p}
}

// stop ends it, and returns when it is gone.
func (m *manager) stop(t testing.TB) {
	t.Helper()
	if m.stopped {
		return
	}
	m.stopped = true
	if err := m.program.Stop(world.Patience); err != nil {
		t.Error(err)
	}
}
