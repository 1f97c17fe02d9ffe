package guard

import (
	"strings"
	"testing"

	"labhub.io/teamspace/test/oracle/live"
	"labhub.io/teamspace/test/scene"
	"labhub.io/teamspace/test/world"
)

// family is an owner with all that the collector may have to do about one: delete a
// dependent, wait for one that blocks, prune a reference, break a cycle.
const family = `
	Widget a/alpha
	Widget a/other
	ConfigMap a/blocks -> Widget alpha +b
	ConfigMap a/follows -> Widget alpha
	ConfigMap a/held [acme.example/hold] -> Widget alpha +b
	ConfigMap a/shared -> Widget alpha +b; Widget other
	Widget a/ring -> Widget alpha +b
	ConfigMap a/inner -> Widget ring +b
`

// after says what is left of a family, by the way in which its owner is deleted, before
// and after the held dependent is released.
var after = map[string]struct{ held, released string }{
	"background": {`
		Widget a/other
		ConfigMap a/held dying [acme.example/hold] -> Widget alpha +b
		ConfigMap a/shared -> Widget other
	`, `
		Widget a/other
		ConfigMap a/shared -> Widget other
	`},
	"foreground": {`
		Widget a/alpha dying [fg]
		Widget a/other
		ConfigMap a/held dying [acme.example/hold] -> Widget alpha +b
		ConfigMap a/shared -> Widget other
	`, `
		Widget a/other
		ConfigMap a/shared -> Widget other
	`},
	"orphan": {`
		Widget a/other
		ConfigMap a/blocks
		ConfigMap a/follows
		ConfigMap a/held [acme.example/hold]
		ConfigMap a/shared -> Widget other
		Widget a/ring
		ConfigMap a/inner -> Widget ring +b
	`, `
		Widget a/other
		ConfigMap a/blocks
		ConfigMap a/follows
		ConfigMap a/held
		ConfigMap a/shared -> Widget other
		Widget a/ring
		ConfigMap a/inner -> Widget ring +b
	`},
}

// families are one for each way of deleting the owner.
func families(t *testing.T, w *world.World, name string) map[string]*scene.Scene {
	t.Helper()
	cluster, err := live.New(w.Admin)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*scene.Scene{}
	for policy := range after {
		all[policy] = scene.New(t, cluster, name+"-"+policy)
		all[policy].Plays(family, family)
	}
	return all
}

// collect deletes the owners, and checks that the collector brings every object into the
// state that the rules predict.
func collect(families map[string]*scene.Scene) {
	for policy, s := range families {
		s.Plays("delete "+policy+" Widget a/alpha", after[policy].held)
		s.Release("ConfigMap/a/held")
		s.Becomes(after[policy].released)
	}
}

// collectorFinds checks that the collector does its work with the guard up, hanging and
// dead (P07): whoever the collector is to the API server, and whatever becomes of what
// the guard does not answer.
func collectorFinds(t *testing.T, w *world.World, name string) {
	t.Helper()
	ways := []string{"up", "hanging", "dead"}
	all := make(map[string]map[string]*scene.Scene, len(ways))
	for _, way := range ways {
		all[way] = families(t, w, strings.ToLower(name)+"-"+way)
	}
	collect(all["up"])
	t.Run("hanging", func(t *testing.T) {
		hang(t, w)
		collect(with(t, all["hanging"]))
	})
	t.Run("dead", func(t *testing.T) {
		w.Stop(t, world.Manager)
		collect(with(t, all["dead"]))
	})
	w.AwaitServing(t)
}

// with returns the scenes for another test.
func with(t *testing.T, families map[string]*scene.Scene) map[string]*scene.Scene {
	t.Helper()
	all := map[string]*scene.Scene{}
	for policy, s := range families {
		all[policy] = s.With(t)
	}
	return all
}

// TestCollector is the collector with a service account of its own.
func TestCollector(t *testing.T) { collectorFinds(t, lab.World(t), "collector") }
