package crash

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/program"
	"labhub.io/teamspace/test/proxy"
	"labhub.io/teamspace/test/world"
)

// bench is what the scenarios are run on.
type bench struct {
	*world.World

	t       *testing.T // of all scenarios
	proxy   *proxy.Proxy
	manager *program.Program // the one that runs, nil if none does

	// crd is the type as it was before a scenario removed it.
	crd *apiextensionsv1.CustomResourceDefinition

	// leaving are the TeamSpaces whose namespaces the collector has to take.
	leaving []string
}

// TestCrash_AtEveryWrite: whenever the manager dies, the next one ends in the state of a
// run that nobody disturbed.
func TestCrash_AtEveryWrite(t *testing.T) {
	w := lab.World(t)
	b := &bench{World: w, t: t, proxy: proxy.Start(t, w.Admin)}
	for n, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			if s.setup != nil {
				s.setup(t, b)
			}
			want := b.undisturbed(t, s, fmt.Sprintf("calm-%d", n))
			for i, at := range slices.Concat(s.steps, s.sometimes) {
				for _, moment := range []string{"before", "after"} {
					t.Run(moment+" "+at.name, func(t *testing.T) {
						name := fmt.Sprintf("crash-%d-%d-%s", n, i, moment)
						b.crash(t, s, name, at, moment == "before")
						b.await(t, s, name, want)
					})
				}
			}
		})
	}
	b.stop()
	for _, name := range b.leaving {
		w.AwaitGone(t, world.TeamNamespace(name))
	}
}

// undisturbed returns the end state of a run. It fails the test if the manager writes
// anything that is in no step: it could die there, too.
func (b *bench) undisturbed(t *testing.T, s scenario, name string) state {
	t.Helper()
	var mu sync.Mutex
	seen := map[string]bool{}
	var unknown []string
	var last time.Time
	b.begin(t, s, name)
	b.proxy.Handle(func(w http.ResponseWriter, r *proxy.Request, pass http.HandlerFunc) {
		if r.Writes() && !isEvent(r) {
			mu.Lock()
			last = time.Now()
			if !s.knows(r, name, seen) {
				unknown = append(unknown, fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, r.Content))
			}
			mu.Unlock()
		}
		pass(w, r.Request)
	})
	b.run(t)
	world.Eventually(t, world.CollectorPatience, "all is done and nothing more is written", func() error {
		mu.Lock()
		since := time.Since(last)
		mu.Unlock()
		if since < quiet {
			return fmt.Errorf("the last write was %s ago", since)
		}
		return s.done(t, b, name)
	})
	end := b.stateOf(t, name)
	mu.Lock()
	defer mu.Unlock()
	for _, write := range unknown {
		t.Errorf("a write that is in no step: %s", write)
	}
	for _, step := range s.steps {
		if !seen[step.name] {
			t.Errorf("no write shows that %s", step.name)
		}
	}
	return end
}

// quiet is how long a manager that has nothing more to do has written nothing.
const quiet = time.Second

// isEvent says whether a write only tells of something. Events are sent beside the pass,
// and one that is lost with the manager is lost.
func isEvent(r *proxy.Request) bool { return strings.Contains(r.URL.Path, "/events") }

// crash runs a manager that dies at a step, and then one that does not.
func (b *bench) crash(t *testing.T, s scenario, name string, at step, before bool) {
	t.Helper()
	b.begin(t, s, name)
	died := make(chan struct{})
	victim := make(chan *program.Program, 1)
	var once sync.Once
	b.proxy.Handle(func(w http.ResponseWriter, r *proxy.Request, pass http.HandlerFunc) {
		if !r.Writes() || isEvent(r) || !at.match(r, name) {
			pass(w, r.Request)
			return
		}
		if !before {
			pass(httptest.NewRecorder(), r.Request)
		}
		once.Do(func() {
			(<-victim).Kill()
			close(died)
		})
		proxy.Cut()
	})
	b.run(t)
	victim <- b.manager
	b.awaitDeath(t, s, name, at, died)
	b.checkSafe(t, name)
	b.run(t)
}

// awaitDeath waits for the step. One that is there only sometimes may not come.
func (b *bench) awaitDeath(t *testing.T, s scenario, name string, at step, died <-chan struct{}) {
	t.Helper()
	optional := !slices.ContainsFunc(s.steps, func(step step) bool { return step.name == at.name })
	world.Eventually(t, world.Patience, at.name, func() error {
		select {
		case <-died:
			return nil
		default:
		}
		if err := s.done(t, b, name); err != nil || !optional {
			return fmt.Errorf("the manager is still alive (%w)", err)
		}
		t.Logf("this time it was not seen that %s", at.name)
		return nil
	})
	b.proxy.Handle(nil)
}

// checkSafe looks at what a dead manager leaves, since the next one may be long in coming:
// a TeamSpace that has a namespace cannot go without a record, and none has.
func (b *bench) checkSafe(t *testing.T, name string) {
	t.Helper()
	ts, ns := teamSpace(name), world.TeamNamespace(name)
	there := b.find(t, ts)
	held := there && slices.Contains(ts.Finalizers, v1alpha1.Finalizer)
	owned := there && b.find(t, ns) && slices.ContainsFunc(ns.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == ts.UID })
	if !held && owned && ts.DeletionTimestamp.IsZero() {
		t.Errorf("the TeamSpace has a namespace, and the finalizers %q", ts.Finalizers)
	}
	if gone := !there || !ts.DeletionTimestamp.IsZero(); gone && !held && b.records(t, name) == "null" {
		t.Error("the TeamSpace is let go, and there is no record")
	}
}

// begin brings a scenario to the moment before the manager acts.
func (b *bench) begin(t *testing.T, s scenario, name string) {
	t.Helper()
	b.proxy.Handle(nil)
	if s.prepare != nil {
		if b.manager == nil {
			b.run(t)
		}
		s.prepare(t, b, name)
	}
	b.stop()
	s.act(t, b, name)
}

// run starts a manager in the place of the one before. It outlives the subtest, because
// the next one goes on with it.
func (b *bench) run(t *testing.T) {
	t.Helper()
	b.stop()
	b.manager = b.RunManager(b.t, b.proxy.URL, b.proxy.CA)
	world.LogIfFailed(t, b.manager)
}

func (b *bench) stop() {
	if b.manager != nil {
		b.manager.Kill()
		b.manager = nil
	}
}

// await waits until all is done, and the state is the one that is wanted.
func (b *bench) await(t *testing.T, s scenario, name string, want state) {
	t.Helper()
	began := time.Now()
	world.Eventually(t, world.CollectorPatience, "the next manager does what is left to do", func() error {
		if err := s.done(t, b, name); err != nil {
			return err
		}
		if diff := cmp.Diff(want, b.stateOf(t, name)); diff != "" {
			return fmt.Errorf("the state differs from that of an undisturbed run (-want +got):\n%s", diff)
		}
		return nil
	})
	t.Logf("done %s after the next start", time.Since(began).Round(time.Millisecond))
}
