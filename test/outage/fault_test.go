package outage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/proxy"
	"labhub.io/teamspace/test/world"
)

// fault is what happens to a request instead of an answer.
type fault string

const (
	none       fault = "none"
	conflict   fault = "conflict"           // somebody else wrote first
	busy       fault = "too many requests"  // with the time to wait, which a client obeys by itself
	busyNow    fault = "429 without a time" // which it does not
	failing    fault = "internal error"     //
	refusedCut fault = "cut off before"     // the request is never seen
	answerLost fault = "answer lost"        // the request is done
	watchCut   fault = "watch cut"          // in the middle of the events
)

// faults are the chances of each in a hundred, by what a request is.
var (
	ofWrites  = map[fault]int{conflict: 15, busy: 4, busyNow: 5, failing: 5, refusedCut: 5, answerLost: 10}
	ofReads   = map[fault]int{busy: 4, busyNow: 5, failing: 5, refusedCut: 5, answerLost: 5}
	ofWatches = map[fault]int{watchCut: 80, busyNow: 5, failing: 5, refusedCut: 5}
)

// longestWatch is when a watch is cut at the latest.
const longestWatch = 1500 * time.Millisecond

// network does these things at random, as long as it is bad.
type network struct {
	mu     sync.Mutex
	chance *rand.Rand
	counts map[fault]int
}

// draw decides what becomes of a request.
func (n *network) draw(r *proxy.Request) (fault, time.Duration) {
	chances := ofReads
	switch {
	case r.Watches():
		chances = ofWatches
	case r.Writes():
		chances = ofWrites
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	f, drawn := none, n.chance.IntN(100)
	for _, candidate := range slices.Sorted(maps.Keys(chances)) {
		if drawn -= chances[candidate]; drawn < 0 {
			f = candidate
			break
		}
	}
	n.counts[f]++
	return f, time.Duration(n.chance.Int64N(int64(longestWatch)))
}

// handle is a proxy.Handler.
func (n *network) handle(w http.ResponseWriter, r *proxy.Request, pass http.HandlerFunc) {
	f, after := n.draw(r)
	resource := v1alpha1.GroupVersion.WithResource("injected").GroupResource()
	switch f {
	case conflict:
		proxy.Refuse(w, apierrors.NewConflict(resource, "x", errors.New("injected")))
	case busy:
		w.Header().Set("Retry-After", "1")
		proxy.Refuse(w, apierrors.NewTooManyRequests("injected", 1))
	case busyNow:
		proxy.Refuse(w, apierrors.NewTooManyRequestsError("injected"))
	case failing:
		proxy.Refuse(w, apierrors.NewInternalError(errors.New("injected")))
	case refusedCut:
		proxy.Cut()
	case answerLost:
		proxy.Lose(r, pass)
	case watchCut:
		ctx, cancel := context.WithTimeout(r.Context(), after)
		defer cancel()
		pass(w, r.WithContext(ctx))
	case none:
		pass(w, r.Request)
	}
}

// TestFaults: watches are cut all the time, one write in seven meets a conflict, requests
// are refused, and answers are lost after the request was done. With nobody's help all
// comes to rest, also while it goes on.
func TestFaults(t *testing.T) {
	w := lab.World(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	n := &network{chance: rand.New(rand.NewPCG(seed, 0)), counts: map[fault]int{}}
	p := proxy.Start(t, w.Admin)
	w.Stop(t, world.Manager)
	world.LogIfFailed(t, w.RunManager(t, p.URL, p.CA))
	all := []*work{prepare(t, w, "fault-0"), prepare(t, w, "fault-1"), prepare(t, w, "fault-2")}

	p.Handle(n.handle)
	p.CutAll()
	for _, k := range all {
		k.ask(t, w)
	}
	for i := range 10 {
		w.Create(t, world.TeamSpace(fmt.Sprintf("fault-more-%d", i), 2, "1"))
	}
	for _, k := range all {
		k.awaitDone(t, w)
	}
	for i := range 10 {
		w.AwaitReady(t, fmt.Sprintf("fault-more-%d", i))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	t.Logf("what became of the requests: %v", n.counts)
	for what, count := range map[string]int{
		"a conflict": n.counts[conflict], "a refusal with 429": n.counts[busy] + n.counts[busyNow],
		"a lost answer": n.counts[answerLost], "a cut watch": n.counts[watchCut],
	} {
		if count == 0 {
			t.Errorf("there was not once %s", what)
		}
	}
}
