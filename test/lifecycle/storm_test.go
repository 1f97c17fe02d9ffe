package lifecycle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

const (
	stormTeamSpaces = 6
	stormWriters    = 4 // for each TeamSpace
	stormRounds     = 15
	stormVersions   = 10_000 // more than there can be
	stormDomain     = "storm.example.com/"
)

// writer adds its own finalizer to a TeamSpace and takes it away, again and again. It
// never touches anybody else's: each write is refused if the list has changed since
// it was read.
type writer struct {
	client    client.Client
	teamSpace string
	finalizer string
	shared    *releases
}

// releases are the finalizers that their writers have begun to take away, so that
// they may vanish.
type releases struct {
	mu     sync.Mutex
	counts map[string]int // by TeamSpace and finalizer
}

// begin notes that a writer is about to take its finalizer away.
func (r *releases) begin(teamSpace, finalizer string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[teamSpace+" "+finalizer]++
}

// of is how many times a writer has begun to do so.
func (r *releases) of(teamSpace, finalizer string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[teamSpace+" "+finalizer]
}

// run ends with the finalizer taken away, once the TeamSpace is being deleted.
func (sw *writer) run(ctx context.Context, chance *rand.Rand) error {
	for range stormRounds {
		going, err := sw.change(ctx, func(list []string) []string {
			return slices.Insert(list, chance.IntN(len(list)+1), sw.finalizer)
		})
		if err != nil || going {
			return err
		}
		sw.shared.begin(sw.teamSpace, sw.finalizer)
		if _, err := sw.change(ctx, sw.without); err != nil {
			return err
		}
	}
	return nil
}

// strip takes our own finalizer away, as people do who apply a manifest that does not
// have it, as soon as the controller has put it there, again and again.
func (sw *writer) strip(ctx context.Context) error {
	sw.finalizer = v1alpha1.Finalizer
	for range stormRounds {
		there := false
		for !there {
			ts := &v1alpha1.TeamSpace{}
			if err := sw.client.Get(ctx, client.ObjectKey{Name: sw.teamSpace}, ts); err != nil {
				return fmt.Errorf("waiting for our finalizer on %q: %w", sw.teamSpace, err)
			}
			there = slices.Contains(ts.Finalizers, sw.finalizer)
		}
		sw.shared.begin(sw.teamSpace, sw.finalizer)
		if _, err := sw.change(ctx, sw.without); err != nil {
			return err
		}
	}
	return nil
}

func (sw *writer) without(list []string) []string {
	return slices.DeleteFunc(list, func(f string) bool { return f == sw.finalizer })
}

// change writes the finalizers anew until nobody else was faster, and says whether
// the TeamSpace is being deleted, so that none can be added any more.
func (sw *writer) change(ctx context.Context, edit func([]string) []string) (going bool, err error) {
	for {
		ts := &v1alpha1.TeamSpace{}
		if err := sw.client.Get(ctx, client.ObjectKey{Name: sw.teamSpace}, ts); err != nil {
			return true, client.IgnoreNotFound(err)
		}
		edited := edit(slices.Clone(ts.Finalizers))
		if !ts.DeletionTimestamp.IsZero() && len(edited) > len(ts.Finalizers) {
			return true, nil
		}
		ts.Finalizers = edited
		err := sw.client.Update(ctx, ts) // refused unless the resourceVersion is the latest
		switch {
		case err == nil:
			return false, nil
		case apierrors.IsNotFound(err):
			return true, nil
		case !apierrors.IsConflict(err):
			return false, fmt.Errorf("changing the finalizers of %q: %w", sw.teamSpace, err)
		}
	}
}

// TestStorm: while others add and remove their finalizers and TeamSpaces come and go,
// nobody's finalizer is lost or moved, and ours is lost to those only who take it away
// from a TeamSpace that lives.
func TestStorm(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	shared := &releases{counts: map[string]int{}}
	watched, err := w.Client.Watch(t.Context(), &v1alpha1.TeamSpaceList{}, client.MatchingLabels{"example.com/storm": "yes"})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	// Read at once, because the API server gives up on those who are slow.
	versions := make(chan watch.Event, stormVersions)
	go func() {
		defer close(versions)
		for event := range watched.ResultChan() {
			versions <- event
		}
	}()

	ctx, cancel := context.WithTimeout(t.Context(), world.CollectorPatience)
	defer cancel()
	var writers sync.WaitGroup
	for i := range stormTeamSpaces {
		ts := world.TeamSpace(fmt.Sprintf("storm-%d", i), 2, "1")
		ts.Labels = map[string]string{"example.com/storm": "yes"}
		// A finalizer that is held for the whole storm, so that the end can be watched.
		ts.Finalizers = []string{stormDomain + "anchor"}
		w.Create(t, ts)
		for n := range stormWriters {
			sw := &writer{client: w.Client, teamSpace: ts.Name, finalizer: fmt.Sprintf("%s%d", stormDomain, n), shared: shared}
			chance := rand.New(rand.NewPCG(uint64(i), uint64(n)))
			writers.Go(func() {
				if err := sw.run(ctx, chance); err != nil {
					t.Error(err)
				}
			})
		}
		if i%2 == 0 {
			writers.Go(func() { stormDeletion(t, w, ts.Name) })
			continue
		}
		sw := &writer{client: w.Client, teamSpace: ts.Name, shared: shared}
		writers.Go(func() {
			if err := sw.strip(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	for i := range stormTeamSpaces {
		endOfStorm(t, w, fmt.Sprintf("storm-%d", i), shared)
	}
	checkStorm(t, versions, shared)
}

// stormDeletion deletes a TeamSpace as soon as it is served, in the middle of the storm.
func stormDeletion(t *testing.T, w *world.World, name string) {
	t.Helper()
	deadline := time.After(world.Patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ts := &v1alpha1.TeamSpace{}
		if err := w.Client.Get(t.Context(), client.ObjectKey{Name: name}, ts); err != nil {
			t.Error(err)
			return
		}
		if slices.Contains(ts.Finalizers, v1alpha1.Finalizer) {
			if err := w.Client.Delete(t.Context(), ts); err != nil {
				t.Error(err)
			}
			return
		}
		select {
		case <-deadline:
			t.Errorf("TeamSpace %q does not get our finalizer: %q", name, ts.Finalizers)
			return
		case <-tick.C:
		}
	}
}

// endOfStorm deletes a TeamSpace that still lives, and lets it go when nobody but the
// anchor holds it.
func endOfStorm(t *testing.T, w *world.World, name string, shared *releases) {
	t.Helper()
	ts := world.TeamSpace(name, 0, "")
	w.Get(t, ts)
	if ts.DeletionTimestamp.IsZero() {
		w.AwaitReady(t, name)
		w.Delete(t, ts)
	}
	w.AwaitTeamSpace(t, name, "only the anchor holds it", func(ts *v1alpha1.TeamSpace) bool {
		return slices.Equal(ts.Finalizers, []string{stormDomain + "anchor"})
	})
	shared.begin(name, stormDomain+"anchor")
	w.Patch(t, ts, `{"metadata": {"finalizers": null}}`)
}

// checkStorm compares each version of the TeamSpaces with the one before.
func checkStorm(t *testing.T, watched <-chan watch.Event, shared *releases) {
	t.Helper()
	before := map[string]*v1alpha1.TeamSpace{}
	losses := map[string]int{}
	versions, gone := 0, 0
	for gone < stormTeamSpaces {
		select {
		case event := <-watched:
			ts, ok := event.Object.(*v1alpha1.TeamSpace)
			if !ok {
				t.Fatalf("the watch sent %v", event)
			}
			if event.Type == watch.Deleted {
				gone++
			}
			versions++
			if was := before[ts.Name]; was != nil {
				compareVersions(t, was, ts, losses)
			}
			before[ts.Name] = ts
		case <-time.After(world.Patience):
			t.Fatalf("after %d versions the watch tells of nothing more, and %d TeamSpaces are gone", versions, gone)
		}
	}
	for key, lost := range losses {
		teamSpace, finalizer, _ := strings.Cut(key, " ")
		if released := shared.of(teamSpace, finalizer); lost > released {
			t.Errorf("TeamSpace %q lost finalizer %s %d times, but its writer took it away only %d times", teamSpace, finalizer, lost, released)
		}
	}
	t.Logf("%d versions of %d TeamSpaces looked at", versions, stormTeamSpaces)
}

func compareVersions(t *testing.T, was, is *v1alpha1.TeamSpace, losses map[string]int) {
	t.Helper()
	// Ours may move: whoever takes it away gets it put back behind all others.
	kept, still := foreign(was.Finalizers, is.Finalizers), foreign(is.Finalizers, was.Finalizers)
	if !slices.Equal(kept, still) {
		t.Errorf("TeamSpace %q: the order changed from %q to %q", is.Name, was.Finalizers, is.Finalizers)
	}
	sorted := slices.Sorted(slices.Values(is.Finalizers))
	if len(slices.Compact(sorted)) != len(is.Finalizers) {
		t.Errorf("TeamSpace %q: a finalizer is there twice: %q", is.Name, is.Finalizers)
	}
	for _, finalizer := range was.Finalizers {
		if slices.Contains(is.Finalizers, finalizer) {
			continue
		}
		if finalizer == v1alpha1.Finalizer && !is.DeletionTimestamp.IsZero() {
			continue // it was archived
		}
		losses[is.Name+" "+finalizer]++
	}
}

// foreign are those finalizers of others that both lists have, in the order of the first.
func foreign(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(f string) bool { return f == v1alpha1.Finalizer || !slices.Contains(other, f) })
}
