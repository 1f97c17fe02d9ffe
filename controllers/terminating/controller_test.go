package terminating

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
)

// cluster holds one namespace and at most one TeamSpace, and counts live reads of the
// namespace.
type cluster struct {
	client.Reader

	ns    *corev1.Namespace
	ts    *v1alpha1.TeamSpace
	reads int
}

func (c *cluster) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *metav1.PartialObjectMetadata:
		if c.ns != nil {
			c.ns.ObjectMeta.DeepCopyInto(&into.ObjectMeta)
			return nil
		}
	case *corev1.Namespace:
		c.reads++
		if c.ns != nil {
			c.ns.DeepCopyInto(into)
			return nil
		}
	case *v1alpha1.TeamSpace:
		if c.ts != nil {
			c.ts.DeepCopyInto(into)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

var epoch = time.Date(2030, time.May, 4, 12, 0, 0, 0, time.UTC)

// going is a team's namespace that is being deleted since the epoch.
func going() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "team-x", UID: "n", DeletionTimestamp: new(metav1.NewTime(epoch)),
		Finalizers: []string{"a.example/held"},
		Labels:     map[string]string{v1alpha1.LabelTeamSpace: "x"},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "TeamSpace", Name: "x", UID: "t", Controller: new(true),
		}},
	}}
}

type scene struct {
	*cluster

	r        *Reconciler
	clock    *testingclock.FakePassiveClock
	recorder *events.FakeRecorder
}

func newScene(ns *corev1.Namespace) *scene {
	s := &scene{cluster: &cluster{ns: ns}, clock: testingclock.NewFakePassiveClock(epoch), recorder: events.NewFakeRecorder(10)}
	s.r = &Reconciler{cached: s.cluster, live: s.cluster, recorder: s.recorder, clock: s.clock, after: time.Minute, told: map[string]told{}}
	return s
}

// pass returns what was said, and when the next look is due.
func (s *scene) pass(t *testing.T) (said []string, next time.Duration) {
	t.Helper()
	result, err := s.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "team-x"}})
	if err != nil {
		t.Fatal(err)
	}
	for len(s.recorder.Events) > 0 {
		said = append(said, <-s.recorder.Events)
	}
	return said, result.RequeueAfter
}

const heldNote = `Warning NamespaceStuck namespace "team-x" has been Terminating since 2030-05-04T12:00:00Z: the namespace itself has the finalizers a.example/held, which nobody but those who set them may remove`

func TestReconcile_WaitsWithoutARequest(t *testing.T) {
	s := newScene(going())
	s.clock.SetTime(epoch.Add(20 * time.Second))
	if said, next := s.pass(t); len(said) != 0 || next != 40*time.Second || s.reads != 0 {
		t.Errorf("said %q, next look in %s after %d reads, want nothing, 40s and none", said, next, s.reads)
	}
}

func TestReconcile_SaysItOnce(t *testing.T) {
	s := newScene(going())
	s.clock.SetTime(epoch.Add(time.Minute))
	said, _ := s.pass(t)
	if diff := cmp.Diff([]string{heldNote}, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if said, _ := s.pass(t); len(said) != 0 {
		t.Errorf("said again: %q", said)
	}
	s.ns.Finalizers = []string{"b.example/other"}
	if said, _ := s.pass(t); len(said) != 1 {
		t.Errorf("something else holds it, said %q", said)
	}
	s.ns.UID = "another"
	if said, _ := s.pass(t); len(said) != 1 {
		t.Errorf("it is another namespace, said %q", said)
	}
	s.ns = nil
	s.pass(t)
	if len(s.r.told) != 0 {
		t.Errorf("it is gone, and remembered: %v", s.r.told)
	}
}

func TestReconcile_SaysItOfTheTeamSpaceToo(t *testing.T) {
	for name, tc := range map[string]struct {
		ts   *v1alpha1.TeamSpace
		want int
	}{
		"the TeamSpace waits for it":       {&v1alpha1.TeamSpace{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "t"}}, 2},
		"a later TeamSpace of that name":   {&v1alpha1.TeamSpace{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "u"}}, 1},
		"the TeamSpace has gone before it": {nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(going())
			s.ts = tc.ts
			s.clock.SetTime(epoch.Add(time.Hour))
			if said, _ := s.pass(t); len(said) != tc.want {
				t.Errorf("said %d times, want %d: %q", len(said), tc.want, said)
			}
		})
	}
}

func TestIsGoing(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Namespace)
		want   bool
	}{
		"a team's, being deleted":        {func(*corev1.Namespace) {}, true},
		"a team's that stays":            {func(ns *corev1.Namespace) { ns.DeletionTimestamp = nil }, false},
		"somebody else's, being deleted": {func(ns *corev1.Namespace) { ns.Labels = nil }, false},
	} {
		ns := going()
		tc.change(ns)
		if got := isGoing(ns); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}
