package admission

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	"labhub.io/teamspace/test/replica"
	"labhub.io/teamspace/test/world"
)

// throttle leaves a process a tenth of the time, as a limit of 100m does: it runs for 10
// of every 100 ms. The returned function lets it run again.
func throttle(t *testing.T, r *replica.Replica) (release func()) {
	t.Helper()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for turn := 0; ; turn++ {
			switch turn % 10 {
			case 0:
				_ = syscall.Kill(r.PID(), syscall.SIGCONT) // a process that has ended is found by the test
			case 1:
				_ = syscall.Kill(r.PID(), syscall.SIGSTOP)
			}
			select {
			case <-tick.C:
			case <-quit:
				_ = syscall.Kill(r.PID(), syscall.SIGCONT)
				return
			}
		}
	}()
	var once sync.Once
	release = func() { once.Do(func() { close(quit); <-done }) }
	t.Cleanup(release)
	return release
}

// TestOverload: 500 writers at once against one process with a tenth of a core, and with
// the limit that goes with that. Each gets an answer within a bounded time, the process
// goes on judging, sheds what it cannot judge and says so, it does not grow, and it is as
// before when they are gone.
func TestOverload(t *testing.T) {
	const (
		writers = 500
		writing = 15 * time.Second
		// bounded is the webhook's timeout of 3 s, and all the time that an API server and
		// 500 writers take who share a small machine: a write of theirs has waited for
		// several seconds before anybody is called.
		bounded = world.Patience
		// room is what the chart's limit leaves.
		room = 256 << 20
	)
	w := begin(t)
	r := alone(t, w, "--webhook-concurrency=10") // it has no control group that would say so
	owner := theOwner(t, w)
	before := r.Memory(t)
	shedBefore, _ := r.Metric(t, "teamspace_webhook_shed_total")
	answeredBefore, _ := r.Metric(t, "teamspace_webhook_duration_seconds_count")
	release := throttle(t, r)

	l := newLoad(t, w)
	ctx, cancel := context.WithTimeout(t.Context(), writing)
	defer cancel()
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for ctx.Err() == nil {
				l.write(context.WithoutCancel(ctx))
			}
		})
	}
	var most int64
	world.Eventually(t, 2*writing+bounded, "the time is over", func() error {
		most = max(most, r.Memory(t))
		return notYet(ctx)
	})
	all.Wait()
	release()
	t.Log(l.tell(writing))
	t.Logf("memory: %d MiB before, %d MiB at most, %d MiB after", before>>20, most>>20, r.Memory(t)>>20)
	answered, _ := r.Metric(t, "teamspace_webhook_duration_seconds_count")
	world.Eventually(t, world.Patience, "it judges again", func() error { return judged(t.Context(), w.Client, owner) })
	world.Never(t, steady, "it goes on judging", func() error { return judged(t.Context(), w.Client, owner) })
	if err := r.Ready(); err != nil {
		t.Error(err)
	}
	shed, _ := r.Metric(t, "teamspace_webhook_shed_total")
	t.Logf("%g requests were shed, %g were judged", shed-shedBefore, answered-answeredBefore)
	if shed == shedBefore {
		t.Error("no request was shed, or the metric does not tell")
	}
	if answered == answeredBefore {
		t.Error("no request was judged meanwhile")
	}
	if l.slowest > bounded {
		t.Errorf("a write took %s", l.slowest)
	}
	if most > room {
		t.Errorf("the process took %d MiB", most>>20)
	}
}

// notYet returns an error until the context has ended.
func notYet(ctx context.Context) error {
	if ctx.Err() == nil {
		return context.DeadlineExceeded
	}
	return nil
}
