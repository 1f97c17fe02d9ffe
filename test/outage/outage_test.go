package outage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// TestRestarted: a part of the control plane is killed and comes back at once, while
// there is work to do.
func TestRestarted(t *testing.T) {
	w := lab.World(t)
	for _, component := range []world.Component{world.ControllerManager, world.APIServer, world.Etcd} {
		t.Run(string(component), func(t *testing.T) {
			short := strings.TrimPrefix(string(component), "kube-")
			before, after := prepare(t, w, short+"-before"), prepare(t, w, short+"-after")
			before.ask(t, w)
			w.Kill(t, component)
			w.Start(t, component)
			after.askAgain(t, w)
			before.awaitDone(t, w)
			after.awaitDone(t, w)
		})
	}
}

// askAgain asks as soon as the API server takes requests again.
func (k *work) askAgain(t *testing.T, w *world.World) {
	t.Helper()
	world.Eventually(t, world.Patience, "the API server answers", func() error { return reach(t, w) })
	k.ask(t, w)
}

// reach asks the API server for something.
func reach(t *testing.T, w *world.World) error {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return w.Client.List(ctx, &v1alpha1.TeamSpaceList{})
}

// TestAway: the API server is away for a minute, which is longer than a lease lasts, so
// that the manager ends and has to be started again by whoever looks after it.
func TestAway(t *testing.T) {
	const away = time.Minute
	w := lab.World(t)
	k := prepare(t, w, "away")
	k.ask(t, w)
	w.Stop(t, world.APIServer)
	world.Never(t, away, "while the API server is away", func() error {
		if _, err := os.Stat(filepath.Join(w.Dir, "ready")); err != nil {
			return fmt.Errorf("the sandbox has ended: %w", err)
		}
		return nil
	})
	if reach(t, w) == nil {
		t.Error("the API server answers, though it is away")
	}
	w.Start(t, world.APIServer)
	k.awaitDone(t, w)
}
