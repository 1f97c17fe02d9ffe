package idle

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"labhub.io/teamspace/test/world"
)

// quantities say the same to a quota, each two of them in other words.
var quantities = []string{"1", "1000m", "1.0", "1e0", "0.5", "500m"}

// writesTo are the manager's writes of a resource in a team's namespace.
func writesTo(t *testing.T, w *world.World, resource, teamSpace string) []world.AuditEvent {
	t.Helper()
	return w.AuditEvents(t, func(e world.AuditEvent) bool {
		return e.User.Name == world.ManagerUser && e.Writes() &&
			e.Object.Resource == resource && e.Object.Namespace == "team-"+teamSpace
	})
}

// specOf is the spec of a TeamSpace in the JSON that the API server sends.
func specOf(t *testing.T, w *world.World, name string) json.RawMessage {
	t.Helper()
	var object struct{ Spec json.RawMessage }
	out := w.MustKubectl(t, "get", "--raw", "/apis/platform.labhub.io/v1alpha1/teamspaces/"+name)
	if err := json.Unmarshal([]byte(out), &object); err != nil {
		t.Fatal(err)
	}
	return object.Spec
}

func TestQuantity_WrittenOnceAndKeptAsTyped(t *testing.T) {
	w := lab.World(t)
	names := make([]string, len(quantities))
	for i, cpu := range quantities {
		names[i] = fmt.Sprintf("typed-%d", i)
		manifest := fmt.Sprintf(`{"apiVersion": "platform.labhub.io/v1alpha1", "kind": "TeamSpace", "metadata": {"name": %q}, "spec": {"pods": 2, "cpu": %q}}`, names[i], cpu)
		if answer := w.KubectlWith(t, manifest, "create", "-f", "-"); answer.Code != 0 {
			t.Fatalf("cpu %q: %s", cpu, answer.Out)
		}
	}
	check := func(when string) {
		t.Helper()
		w.AwaitQuiet(t, world.ManagerUser, 3*time.Second, world.Patience)
		for i, name := range names {
			w.AwaitReady(t, name)
			for _, resource := range []string{"resourcequotas", "limitranges"} {
				if writes := writesTo(t, w, resource, name); len(writes) != 1 {
					t.Errorf("%s: cpu %q: %d writes of %s, want 1: %v", when, quantities[i], len(writes), resource, writes)
				}
			}
			if diff := cmp.Diff(fmt.Sprintf(`{"cpu":%q,"pods":2}`, quantities[i]), string(specOf(t, w, name))); diff != "" {
				t.Errorf("%s: spec (-want +got):\n%s", when, diff)
			}
		}
	}
	check("served")

	// What makes the manager look again must not make it write again.
	for _, name := range names {
		w.Patch(t, world.Quota(name), `{"metadata": {"annotations": {"example.com/look": "again"}}}`)
		w.Patch(t, world.TeamSpace(name, 0, ""), `{"metadata": {"labels": {"example.com/look": "again"}}}`)
	}
	check("looked at again")
	w.Restart(t, world.Manager)
	check("after a restart of the manager")
}
