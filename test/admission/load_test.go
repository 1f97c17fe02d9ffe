package admission

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/replica"
	"labhub.io/teamspace/test/world"
)

// load is a stream of guarded writes, by dry-run. Each tenth has a wrong reference and has
// to be denied by the guard, so that a request which nobody judged is found whatever the
// failure policy makes of it.
type load struct {
	w     *world.World
	owner *corev1.ConfigMap

	sent, failed atomic.Int64

	mu      sync.Mutex
	samples []string
	slowest time.Duration
}

// keptSamples is how many failures are told in full.
const keptSamples = 5

func newLoad(t testing.TB, w *world.World) *load {
	t.Helper()
	return &load{w: w, owner: theOwner(t, w)}
}

// write makes one write, and counts it.
func (l *load) write(ctx context.Context) {
	number := l.sent.Add(1)
	object, wrong := dependent(fmt.Sprintf("load-%d", number), l.owner), number%10 == 0
	if wrong {
		object.OwnerReferences[0].UID = staleUID
	}
	began := time.Now()
	err := l.w.Client.Create(ctx, object, client.DryRunAll)
	took := time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowest = max(l.slowest, took)
	if wrong && apierrors.IsForbidden(err) || !wrong && err == nil {
		return
	}
	l.failed.Add(1)
	if len(l.samples) < keptSamples {
		l.samples = append(l.samples, fmt.Sprintf("%s after %s (wrong %t): %v", began.Format("15:04:05.000"), took, wrong, err))
	}
}

// run writes at a rate until the context ends, and returns when all writes are answered.
// What a slow machine cannot send at its time is sent later.
func (l *load) run(ctx context.Context, rate, writers int) {
	due := make(chan struct{}, rate)
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range due {
				l.write(context.WithoutCancel(ctx))
			}
		})
	}
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			select {
			case due <- struct{}{}:
			default: // the machine is a second behind
			}
		case <-ctx.Done():
		}
	}
	close(due)
	all.Wait()
}

// start runs in the background until the returned function is called, which returns when
// all writes are answered. There should be no more writers than the rate needs where a
// write takes 80 ms: on a slower machine they would wait for each other in the API server,
// until a look-up of the guard takes longer than its deadline and it warns only.
func (l *load) start(t testing.TB, rate, writers int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.run(ctx, rate, writers)
	}()
	return func() { cancel(); <-done }
}

// tell is what a test logs about it.
func (l *load) tell(took time.Duration) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	sent := l.sent.Load()
	return fmt.Sprintf("%d guarded writes in %s (%.0f a second), %d failed, the slowest took %s %q",
		sent, took.Round(time.Second), float64(sent)/took.Seconds(), l.failed.Load(), l.slowest.Round(time.Millisecond), l.samples)
}

// unanswered is what the API server itself counted: calls of our webhooks that failed,
// and those that it let pass for that.
func unanswered(t testing.TB, w *world.World) float64 {
	t.Helper()
	page := w.Raw(t, "/metrics")
	refused, _ := replica.Sum(t, page, "apiserver_admission_webhook_rejection_count", `error_type="calling_webhook_error"`)
	passed, _ := replica.Sum(t, page, "apiserver_admission_webhook_fail_open_count")
	return refused + passed
}
