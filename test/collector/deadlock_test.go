package collector

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/rules"
	"labhub.io/teamspace/test/oracle/live"
)

// clusterScoped is row F5: the dependent counts as a blocker, since that goes by uid,
// and is never collected, since its reference is of bad scope.
func clusterScoped(s *row) {
	s.Plays(`
		Widget a/stuck
		Widget a/again
		Widget a/unblocked
		Widget a/emptied
		Widget a/orphaned
		ClusterRole s -> Widget stuck =Widget/a/stuck +b
		ClusterRole a -> Widget again =Widget/a/again +b
		ClusterRole u -> Widget unblocked =Widget/a/unblocked +b
		ClusterRole e -> Widget emptied =Widget/a/emptied +b
		ClusterRole o -> Widget orphaned =Widget/a/orphaned +b
		delete foreground Widget a/stuck
		delete foreground Widget a/again
		delete foreground Widget a/unblocked
		delete foreground Widget a/emptied
		delete foreground Widget a/orphaned
	`, `
		Widget a/stuck dying [fg]
		Widget a/again dying [fg]
		Widget a/unblocked dying [fg]
		Widget a/emptied dying [fg]
		Widget a/orphaned dying [fg]
		ClusterRole s -> Widget stuck =Widget/a/stuck +b
		ClusterRole a -> Widget again =Widget/a/again +b
		ClusterRole u -> Widget unblocked =Widget/a/unblocked +b
		ClusterRole e -> Widget emptied =Widget/a/emptied +b
		ClusterRole o -> Widget orphaned =Widget/a/orphaned +b
	`)
	s.deadlocked("Widget/a/stuck", rules.F5)
	s.SetOwners("ClusterRole/u", []metav1.OwnerReference{
		{APIVersion: "acme.example/v1", Kind: "Widget", Name: "unblocked", UID: "Widget/a/unblocked"},
	})
	s.Plays(`
		delete background Widget a/again
		delete background ClusterRole e
		delete orphan Widget a/orphaned
	`, `
		Widget a/stuck dying [fg]
		ClusterRole s -> Widget stuck =Widget/a/stuck +b
		ClusterRole a -> Widget again =Widget/a/again +b
		ClusterRole u -> Widget unblocked =Widget/a/unblocked
		ClusterRole o
	`)
}

func clusterScopedStill(s *row) {
	s.Plays("restart", `
		Widget a/stuck dying [fg]
		ClusterRole s -> Widget stuck =Widget/a/stuck +b
		ClusterRole a -> Widget again =Widget/a/again +b
		ClusterRole u -> Widget unblocked =Widget/a/unblocked
		ClusterRole o
	`)
}

// selfBlocked is row F6.
func selfBlocked(s *row) {
	s.Plays(`
		Widget a/stuck -> Widget stuck +b
		Widget a/self -> Widget self +b
		Widget a/other [acme.example/hold] -> Widget other +b
		delete foreground Widget a/stuck
		delete foreground Widget a/self
		delete foreground Widget a/other
	`, `
		Widget a/stuck dying [fg] -> Widget stuck +b
		Widget a/self dying [fg] -> Widget self +b
		Widget a/other dying [acme.example/hold fg] -> Widget other +b
	`)
	s.deadlocked("Widget/a/self", rules.F6)
	// Without options it changes nothing: the finalizer that is there counts (F1, D9).
	s.Plays(`
		delete default Widget a/self
	`, `
		Widget a/stuck dying [fg] -> Widget stuck +b
		Widget a/self dying [fg] -> Widget self +b
		Widget a/other dying [acme.example/hold fg] -> Widget other +b
	`)
	s.Plays(`
		delete background Widget a/self
		delete background Widget a/other
	`, `
		Widget a/stuck dying [fg] -> Widget stuck +b
		Widget a/other dying [acme.example/hold] -> Widget other +b
	`)
}

func selfBlockedStill(s *row) {
	s.Plays("restart", `
		Widget a/stuck dying [fg] -> Widget stuck +b
		Widget a/other dying [acme.example/hold] -> Widget other +b
	`)
}

var late = live.Definition{Group: "acme.example", Kind: "Late", Namespaced: true, Versions: []live.Version{{Name: "v1"}}}

// unjudged is row F7, and what ends it: the type of the other reference appears.
func unjudged(s *row) {
	s.Plays(`
		Widget a/owner
		ConfigMap a/child -> Widget owner +b; Late:acme.example/v1 nobody =nobody
		delete foreground Widget a/owner
	`, `
		Widget a/owner dying [fg]
		ConfigMap a/child -> Widget owner +b; Late:acme.example/v1 nobody =nobody
	`)
	s.deadlocked("Widget/a/owner", rules.F7)
	if err := s.lab.cluster.Define(s.Context(), late); err != nil {
		s.Fatal(err)
	}
	// An owner that is absent now does not keep the child (R10).
	s.Serves("acme.example/v1", "Late", "namespaced")
	s.Becomes("")
}

// deadlocked checks that the prediction of the present names the row that keeps the
// owner.
func (s *row) deadlocked(owner string, want rules.Rule) {
	s.Helper()
	p := s.Parse(s.Print()).Predict()
	id, ok := p.Graph().Find(uid(owner))
	if !ok {
		s.Fatalf("there is no %s", owner)
	}
	blockers := p.Blockers(id)
	if len(blockers) != 1 {
		s.Fatalf("%s has %d blockers, want 1", owner, len(blockers))
	}
	if got := p.Deadlock(blockers[0]); got != want {
		s.Errorf("%s is held by row %q, want %q", owner, got, want)
	}
}
