package collector

import (
	"testing"

	"labhub.io/teamspace/test/oracle/live"
	"labhub.io/teamspace/test/oracle/plane"
)

// story is a scene with what happens in it: while the collector runs, while it is
// stopped, and when it has been started again.
type story struct {
	name                   string
	first, down, restarted func(*row)
}

// stories are all scenes, in the order of the rule book.
var stories = []story{
	{name: "K1 R14 D3 D4 the type is removed", first: typeRemoved},
	{name: "R14-restart the type is removed while the collector is down", first: removedUnseenFirst, down: removedUnseen, restarted: removedUnseenAfter},
	{name: "D1 the half minute after a type is removed", first: justRemoved},
	{name: "D1 D2 a version is not served, and served again", first: versionGone, restarted: versionBack},
	{name: "R13 D10 the owner's type is observed", first: foreignOwner, restarted: foreignOwnerAgain},
	{name: "R13 the owner's type is not observed", first: foreignUnobserved},
	{name: "R03 R20 what is polled is judged while it is being deleted", first: polledDying},
	{name: "R12 an Event that the collector cannot delete", first: refusedEvent},
	{name: "F5 a cluster-scoped dependent blocks", first: clusterScoped, restarted: clusterScopedStill},
	{name: "F6 an object blocks itself", first: selfBlocked, restarted: selfBlockedStill},
	{name: "F7 a dependent that cannot be judged blocks", first: unjudged},
	{name: "F11 the second DELETE", first: secondDelete},
	{name: "F11-pod a Pod with grace left", first: secondDeletePod},
	{name: "F11-ns a Namespace with its own finalizer", first: secondDeleteNamespace},
}

func TestRareRows(t *testing.T) {
	t.Parallel()
	l := newLab(t, plane.Flags(), append(live.Definitions(), definitions...))
	scenes := make([]*row, len(stories))
	done := make([]bool, len(stories))
	t.Run("first", func(t *testing.T) {
		for i, story := range stories {
			t.Run(story.name, func(t *testing.T) {
				t.Parallel()
				scenes[i] = l.scene(t, story.name)
				story.first(scenes[i])
				done[i] = true
			})
		}
	})
	if err := l.plane.StopCollector(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, story := range stories {
		if story.down != nil && done[i] {
			story.down(scenes[i].with(t))
		}
	}
	if err := l.plane.StartCollector(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("restarted", func(t *testing.T) {
		for i, story := range stories {
			if story.restarted == nil || !done[i] {
				continue // what failed before has been told
			}
			t.Run(story.name, func(t *testing.T) {
				t.Parallel()
				story.restarted(scenes[i].with(t))
			})
		}
	})
}
