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
	before := failedOpen(t, w)
	if err := w.Client.Create(ctx, configMap("default", "fails-open", ghost())); err != nil {
		t.Error(err)
	}
	if after := failedOpen(t, w); after != before+1 {
		t.Errorf("the API server failed open %d times before and %d times after it", before, after)
	}
}

// failedOpen counts how often the API server has gone on without an answer of the guard.
func failedOpen(t *testing.T, w *world.World) int {
	t.Helper()
	for line := range strings.Lines(w.MustKubectl(t, "get", "--raw", "/metrics")) {
		count, found := strings.CutPrefix(line, `apiserver_admission_webhook_fail_open_count{name="ownerreferences.platform.labhub.io",type="validating"} `)
		if found {
			n, err := strconv.Atoi(strings.TrimSpace(count))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return 0
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
	writes := w.AuditEvents(t, func(e world.AuditEvent) bool {
		return e.User.Name == world.ManagerUser && e.Writes() && e.Object.Subresource == "" &&
			(e.Object.Name == "meanwhile" || e.Object.Name == "team-meanwhile" || e.Object.Namespace == "team-meanwhile")
	})
	if len(writes) == 0 || writes[0].Object.Resource != "teamspaces" {
		t.Errorf("the first write is not that of the finalizer: %v", writes)
	}
	w.AwaitServing(t)
}
