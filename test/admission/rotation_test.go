package admission

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/replica"
	"labhub.io/teamspace/test/world"
)

// history is what was seen of the certificates, in the order in which it changed.
type history struct {
	mu      sync.Mutex
	leaves  []string // serial numbers, as they were presented by a replica
	bundles []string // the serial numbers of the authorities in a caBundle
	problem error
}

func (h *history) add(to *[]string, seen string) {
	if len(*to) == 0 || (*to)[len(*to)-1] != seen {
		*to = append(*to, seen)
	}
}

// watch looks until the test stops it.
func (h *history) watch(t *testing.T, w *world.World, r *replica.Replica) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	ctx := t.Context()
	go func() {
		defer close(done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			v := &admissionregistrationv1.ValidatingWebhookConfiguration{}
			err := w.Client.Get(ctx, client.ObjectKey{Name: name}, v)
			leaf, leafErr := r.Leaf()
			h.mu.Lock()
			switch {
			case err != nil:
				h.problem = err
			case leafErr != nil:
				h.problem = leafErr
			default:
				h.add(&h.bundles, serials(v.Webhooks[0].ClientConfig.CABundle))
				h.add(&h.leaves, leaf.SerialNumber.Text(16))
			}
			h.mu.Unlock()
			select {
			case <-tick.C:
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

// serials are those of the authorities in a bundle, the newest first.
func serials(bundle []byte) string {
	var all []string
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return err.Error()
		}
		all = append(all, c.SerialNumber.Text(16)[:6])
	}
	return fmt.Sprint(all)
}

// TestRotation: the leaf changes every six seconds for two minutes, and the authority
// after one of them; two replicas serve, and nobody fails to be judged. In the window both
// authorities are in the caBundle, and when the old one has expired it is not.
func TestRotation(t *testing.T) {
	const writing = 2 * time.Minute
	w := begin(t)
	balancer := replica.Balance(t, service(t, w))
	flags := []string{"--certificate-lifetime=9s", "--authority-lifetime=90s"}
	var both []*replica.Replica
	for range 2 {
		r := replica.Start(t, w, replica.Options{Address: replica.Free(t, "127.0.0.1"), Flags: flags})
		balancer.Add(r)
		both = append(both, r)
	}
	for _, r := range both {
		r.AwaitReady(t)
	}
	w.AwaitServing(t)

	before, seen, l := unanswered(t, w), &history{}, newLoad(t, w)
	stopWatching := seen.watch(t, w, both[0])
	began := time.Now()
	stop := l.start(t, 100, 12)
	world.Never(t, writing, "the replicas stay alive", func() error {
		for _, r := range both {
			if err := r.Alive(); err != nil {
				return err
			}
		}
		return nil
	})
	stop()
	t.Log(l.tell(time.Since(began)))
	stopWatching()
	if failed := l.failed.Load(); failed > 0 {
		t.Errorf("%d writes were not judged", failed)
	}
	if more := unanswered(t, w) - before; more > 0 {
		t.Errorf("the API server counts %g calls that failed", more)
	}
	if seen.problem != nil {
		t.Errorf("looking at the certificates: %v", seen.problem)
	}
	t.Logf("%d leaves, and these bundles: %s", len(seen.leaves), seen.bundles)
	if len(seen.leaves) < 15 {
		t.Errorf("the leaf changed %d times in %s, which is not every few seconds", len(seen.leaves), writing)
	}
	overlaps(t, seen.bundles)
}

// overlaps checks the life of an authority: alone, then beside its successor, then gone.
func overlaps(t *testing.T, bundles []string) {
	t.Helper()
	sizes := make([]int, len(bundles))
	for i, bundle := range bundles {
		sizes[i] = len(bundle) / len("abcdef ") // [abcdef 123456]
	}
	two := slices.Index(sizes, 2)
	if two < 1 || sizes[two-1] != 1 || !slices.Contains(sizes[two:], 1) {
		t.Errorf("the bundles do not go from one authority over two to the next one: %s", bundles)
	}
}
