package guard

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

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

// each writes a text for every way of deleting an owner, in a namespace that bears its
// name.
func each(text func(policy string) string) string {
	var all strings.Builder
	for policy := range after {
		all.WriteString(strings.ReplaceAll(text(policy), " a/", " "+policy+"/"))
	}
	return all.String()
}

// families makes a family for each way of deleting its owner.
func families(t *testing.T, w *world.World, name string) *scene.Scene {
	t.Helper()
	cluster, err := live.New(w.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s := scene.New(t, cluster, name)
	all := each(func(string) string { return family })
	s.Plays(all, all)
	return s
}

// collect deletes the owners, and checks that the collector brings every object into the
// state that the rules predict.
func collect(s *scene.Scene) {
	s.Helper()
	s.Plays(
		each(func(policy string) string { return "delete " + policy + " Widget a/alpha\n" }),
		each(func(policy string) string { return after[policy].held }),
	)
	for policy := range after {
		s.Release(types.UID("ConfigMap/" + policy + "/held"))
	}
	s.Becomes(each(func(policy string) string { return after[policy].released }))
}

// collectorFinds checks that the collector does its work with the guard up, hanging and
// dead (P07): whoever the collector is to the API server, and whatever becomes of what
// the guard does not answer.
func collectorFinds(t *testing.T, w *world.World, name string) {
	t.Helper()
	up, hanging, dead := families(t, w, name+"-up"), families(t, w, name+"-hanging"), families(t, w, name+"-dead")
	t.Run("up", func(t *testing.T) { collect(up.With(t)) })
	t.Run("hanging", func(t *testing.T) {
		hang(t, w)
		collect(hanging.With(t))
	})
	t.Run("dead", func(t *testing.T) {
		w.Stop(t, world.Manager)
		collect(dead.With(t))
	})
	w.AwaitServing(t)
}

// TestCollector is the collector with a service account of its own.
func TestCollector(t *testing.T) { collectorFinds(t, lab.World(t), "collector") }
