package certmanager

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

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
		if err := Run(ctx, os.Args[2]); err != nil && ctx.Err() == nil {
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
	_, err := InstallTypes(ctx, w.Client)
	return err
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
