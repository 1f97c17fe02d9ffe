package guard

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// TestHangs: a manager that accepts connections and does not answer holds up a guarded
// write for the webhook's timeout of 3 s, and lets it pass then.
func TestHangs(t *testing.T) {
	w := lab.World(t)
	hang(t, w)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := w.Client.Create(ctx, configMap("default", "fails-open", ghost())); err != nil {
		t.Error(err)
	}
}

// hang stops the process of the webhooks without ending it, until the test is over.
func hang(t testing.TB, w *world.World) {
	t.Helper()
	pid := webhookPID(t, w)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
		w.AwaitServing(t)
	})
}

// webhookPID is read off the status of the sandbox.
func webhookPID(t testing.TB, w *world.World) int {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), w.Sandbox(), "status", "--dir="+w.Dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); len(words) > 2 && words[0] == string(world.Manager)+"/teamspace-webhook" {
			pid, err := strconv.Atoi(words[2])
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("the sandbox runs no webhooks:\n%s", out)
	return 0
}

// TestManagerAway: a TeamSpace that is made while no webhook answers gets its finalizer
// from the controller, before anything else exists; a wrong reference passes.
func TestManagerAway(t *testing.T) {
	w := lab.World(t)
	w.Stop(t, world.Manager)
	w.Create(t, world.TeamSpace("meanwhile", 1, "1"), configMap("default", "meanwhile", ghost()))
	ts := world.TeamSpace("meanwhile", 1, "1")
	w.Get(t, ts)
	if len(ts.Finalizers) != 0 {
		t.Errorf("finalizers %v, though nobody was there to add any", ts.Finalizers)
	}
	w.Start(t, world.Manager)
	if got := w.AwaitReady(t, "meanwhile").Finalizers; len(got) != 1 || got[0] != v1alpha1.Finalizer {
		t.Errorf("finalizers %v", got)
	}
	w.AwaitServing(t)
}
