package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/world"
)

// rate is how many writes there are in a second: every other one is guarded.
const rate = 50

// writes counts those of one kind.
type writes struct {
	sent   int
	failed []string
	took   []time.Duration
}

// calm is how many writes of each kind there are before anything happens, for comparison.
const calm = 100

// load writes all the time, with and without an owner reference.
type load struct {
	c     client.Client
	owner *corev1.ConfigMap

	mu                 sync.Mutex
	unguarded, guarded writes
	before             *writes // the unguarded ones until something happened
}

// start begins to write and returns what ends it.
func start(t *testing.T, w *world.World) (l *load, stop func()) {
	t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "owner-"}}
	w.Create(t, owner)
	t.Cleanup(func() {
		if err := w.Client.Delete(context.WithoutCancel(t.Context()), owner); err != nil {
			t.Error(err)
		}
	})
	l = &load{c: w.Client, owner: owner}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		ticker := time.NewTicker(time.Second / rate)
		defer ticker.Stop()
		for i := 0; ; i++ {
			select {
			case <-ticker.C:
				all.Go(func() { l.write(context.WithoutCancel(ctx), i) })
			case <-ctx.Done():
				return
			}
		}
	})
	return l, sync.OnceFunc(func() { cancel(); all.Wait() })
}

// write creates an object and takes it away again, which no webhook sees.
func (l *load) write(ctx context.Context, number int) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("%s-%d", l.owner.Name, number)}}
	of := &l.unguarded
	if number%2 == 0 {
		of = &l.guarded
		object.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: l.owner.Name, UID: l.owner.UID}}
	}
	began := time.Now()
	err := l.c.Create(ctx, object)
	took := time.Since(began)
	if err == nil {
		err = l.c.Delete(ctx, object)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	of.sent++
	of.took = append(of.took, took)
	if err != nil {
		of.failed = append(of.failed, err.Error())
	}
}

// begins waits until it has been calm for long enough, and says that now something happens.
func (l *load) begins(t *testing.T) {
	t.Helper()
	world.Eventually(t, podPatience, "there were writes to compare with", func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.unguarded.sent < calm {
			return fmt.Errorf("%d, want %d", l.unguarded.sent, calm)
		}
		before := l.unguarded
		l.before = &before
		l.unguarded = writes{failed: before.failed}
		return nil
	})
}

// String tells how many writes there were, and how long they took.
func (w *writes) String() string {
	if w.sent == 0 {
		return "none"
	}
	return fmt.Sprintf("%d writes, %d failed, median %s, p99 %s, longest %s", w.sent, len(w.failed),
		w.quantile(0.5).Round(time.Millisecond), w.quantile(0.99).Round(time.Millisecond), w.quantile(1).Round(time.Millisecond))
}

// quantile is the time within which this share of the writes was done; there has to be one.
func (w *writes) quantile(share float64) time.Duration {
	slices.Sort(w.took)
	return w.took[min(int(share*float64(len(w.took))), len(w.took)-1)]
}

// slower compares the times of writes with those of others.
func (w *writes) slower(before *writes) string {
	ratio := func(share float64) float64 { return float64(w.quantile(share)) / float64(before.quantile(share)) }
	return fmt.Sprintf("median %.1f times and p99 %.1f times what it was before (%s)", ratio(0.5), ratio(0.99), before)
}

// want: there were writes, and none has failed. How long they took is told and not judged: it
// says as much about the machine.
func (l *load) want(t *testing.T, during string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for kind, w := range map[string]*writes{"unguarded": &l.unguarded, "guarded": &l.guarded} {
		t.Logf("%s, %s: %s", during, kind, w)
		if w.sent == 0 || len(w.failed) > 0 {
			t.Errorf("%s: of %d %s writes %d failed:\n%s", during, w.sent, kind, len(w.failed), strings.Join(w.failed[:min(len(w.failed), 5)], "\n"))
		}
	}
	if l.before != nil && l.unguarded.sent > 0 {
		t.Logf("%s, unguarded: %s", during, l.unguarded.slower(l.before))
	}
}

// tellCauses says why the API server could not ask a webhook, as its log has it.
func tellCauses(t *testing.T, w *world.World) {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(w.Dir, "kube-apiserver.log"))
	if err != nil {
		t.Fatal(err)
	}
	causes := map[string]int{}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "failing open") {
			causes[strings.TrimSpace(line[strings.LastIndex(line, ": ")+2:])]++
		}
	}
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		t.Logf("since the cluster began %d calls of webhooks failed: %s", causes[cause], cause)
	}
}

// passed counts the writes that the API server let pass because no webhook answered.
func passed(t *testing.T, w *world.World) float64 {
	t.Helper()
	total := 0.0
	for line := range strings.Lines(w.MustKubectl(t, "get", "--raw", "/metrics")) {
		if !strings.HasPrefix(line, "apiserver_admission_webhook_fail_open_count{") || !strings.Contains(line, "platform.labhub.io") {
			continue
		}
		var value float64
		if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &value); err != nil {
			t.Fatalf("reading the metric %q: %v", line, err)
		}
		total += value
	}
	return total
}
