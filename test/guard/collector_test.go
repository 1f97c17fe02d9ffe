package guard

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// family is an owner with three dependents: one that blocks it, one that does not, and
// one that has another owner besides.
type family struct {
	ns    string
	alpha *unstructured.Unstructured
	other *unstructured.Unstructured
}

func newFamily(t *testing.T, w *world.World, ns string) family {
	t.Helper()
	namespace(t, w, ns)
	f := family{ns: ns, alpha: site(t, w, ns, "alpha"), other: site(t, w, ns, "other")}
	blocking := reference(f.alpha, "Site")
	blocking.BlockOwnerDeletion = new(true)
	w.Create(t,
		configMap(ns, "blocks", blocking),
		configMap(ns, "follows", reference(f.alpha, "Site")),
		configMap(ns, "shared", reference(f.alpha, "Site"), reference(f.other, "Site")),
	)
	return f
}

// deleteBy deletes the owner, and checks what the rules say of each way: the dependents
// go with it or are orphaned, and the shared one stays, pruned of the reference (R08).
func (f family) deleteBy(t *testing.T, w *world.World, policy metav1.DeletionPropagation) {
	t.Helper()
	if err := w.Client.Delete(t.Context(), f.alpha, client.PropagationPolicy(policy)); err != nil {
		t.Fatal(err)
	}
	w.AwaitGone(t, owner("Site", f.ns, "alpha"))
	for _, name := range []string{"blocks", "follows"} {
		if policy == metav1.DeletePropagationOrphan {
			f.wantOwners(t, w, name)
		} else {
			w.AwaitGone(t, configMap(f.ns, name))
		}
	}
	f.wantOwners(t, w, "shared", "other")
}

func (f family) wantOwners(t *testing.T, w *world.World, name string, want ...string) {
	t.Helper()
	world.Eventually(t, world.CollectorPatience, name+" is owned as it should be", func() error {
		c := configMap(f.ns, name)
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			return err
		}
		var owners []string
		for _, ref := range c.OwnerReferences {
			owners = append(owners, ref.Name)
		}
		if fmt.Sprint(owners) != fmt.Sprint(want) {
			return fmt.Errorf("owners %v, want %v", owners, want)
		}
		return nil
	})
}

var propagations = []metav1.DeletionPropagation{
	metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
}

// TestCollector: the guard does not stand in the collector's way (P07).
func TestCollector(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	for _, policy := range propagations {
		newFamily(t, w, "up-"+strings.ToLower(string(policy))).deleteBy(t, w, policy)
	}
}

// TestGuardHangs: a manager that accepts connections and does not answer stops neither
// the collector nor any write without a changed reference; one with such a reference
// passes when the time is over.
func TestGuardHangs(t *testing.T) {
	w := lab.World(t)
	families := map[metav1.DeletionPropagation]family{}
	for _, policy := range propagations {
		families[policy] = newFamily(t, w, "hangs-"+strings.ToLower(string(policy)))
	}
	c := configMap("default", "unguarded")
	w.Create(t, c)
	answering := slowest(t, w, c)
	hang(t, w)
	if hanging := slowest(t, w, c); hanging > 10*answering+time.Second {
		t.Errorf("a write without references took %s while the guard answered, and %s while it hung", answering, hanging)
	}
	began := time.Now()
	w.Create(t, configMap("default", "fails-open", ghost()))
	if took := time.Since(began); took < 2*time.Second || took > 3*time.Second+world.Patience/4 {
		t.Errorf("a guarded write passed after %s, want the timeout of 3 s", took)
	}
	for policy, f := range families {
		f.deleteBy(t, w, policy)
	}
}

// slowest is the longest that one of several writes without references took: labels,
// leases, events.
func slowest(t *testing.T, w *world.World, c *corev1.ConfigMap) time.Duration {
	t.Helper()
	var longest time.Duration
	for i := range 10 {
		began := time.Now()
		w.Patch(t, c, fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, i))
		longest = max(longest, time.Since(began))
	}
	return longest
}

// hang stops the manager's process without ending it, until the test is over.
func hang(t *testing.T, w *world.World) {
	t.Helper()
	pid := managerPID(t, w)
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

// managerPID is read off the status of the sandbox.
func managerPID(t *testing.T, w *world.World) int {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), w.Sandbox(), "status", "--dir="+w.Dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); len(words) > 2 && words[0] == string(world.Manager) {
			pid, err := strconv.Atoi(words[2])
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("the sandbox runs no manager:\n%s", out)
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
