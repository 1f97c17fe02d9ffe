package manager

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/test/world"
)

// takeover is how long the next manager may take to lead.
const takeover = 2 * time.Second

func lease(t *testing.T, w *world.World) coordinationv1.LeaseSpec {
	t.Helper()
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: world.ReleaseNamespace, Name: world.LeaseName}}
	w.Get(t, l)
	if l.Spec.HolderIdentity == nil || l.Spec.AcquireTime == nil || l.Spec.LeaseTransitions == nil {
		t.Fatalf("the lease is %+v", l.Spec)
	}
	return l.Spec
}

// TestLeader_TakesOver measures from the moment at which the start is asked for to the
// time that the new holder itself wrote into the lease: that the process starts and
// fills its caches is in it.
func TestLeader_TakesOver(t *testing.T) {
	w := lab.World(t)
	for range 3 {
		before := lease(t, w)
		w.Stop(t, world.Manager)
		if released := lease(t, w); *released.HolderIdentity != "" {
			t.Errorf("a clean stop leaves the lease with %q, want it released", *released.HolderIdentity)
		}
		began := time.Now()
		w.Start(t, world.Manager)
		after := lease(t, w)
		if *after.HolderIdentity == "" || *after.HolderIdentity == *before.HolderIdentity {
			t.Errorf("the holder is %q, before it was %q", *after.HolderIdentity, *before.HolderIdentity)
		}
		if *after.LeaseTransitions <= *before.LeaseTransitions || !after.AcquireTime.After(before.AcquireTime.Time) {
			t.Errorf("transitions %d to %d, acquired %s and then %s", *before.LeaseTransitions, *after.LeaseTransitions, before.AcquireTime, after.AcquireTime)
		}
		took := after.AcquireTime.Sub(began)
		t.Logf("leads %s after its start", took)
		if took < 0 || took > takeover {
			t.Errorf("the next manager leads after %s, want at most %s", took, takeover)
		}
	}
}

// TestLeader_ServesAtOnce: to lead is one thing, to work another.
func TestLeader_ServesAtOnce(t *testing.T) {
	w := lab.World(t)
	w.Stop(t, world.Manager)
	w.Create(t, world.TeamSpace("waiting", 2, "1"))
	began := time.Now()
	w.Start(t, world.Manager)
	ts := w.AwaitReady(t, "waiting")
	if took := time.Since(began); took > 2*takeover {
		t.Errorf("TeamSpace %q is Ready %s after the start of the manager, want at most %s", ts.Name, took, 2*takeover)
	}
}
