package idle

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

const (
	idleTeamSpaces = 20
	idleTime       = time.Minute
)

func TestIdle_OnlyWatchesAndTheLease(t *testing.T) {
	w := lab.World(t)
	for i := range idleTeamSpaces {
		w.Create(t, world.TeamSpace(fmt.Sprintf("idle-%d", i), int32(i+1), quantities[i%len(quantities)]))
	}
	for i := range idleTeamSpaces {
		w.AwaitReady(t, fmt.Sprintf("idle-%d", i))
	}
	w.AwaitQuiet(t, world.ManagerUser, 5*time.Second, world.Patience)

	began := latest(t, w)
	before := resourceVersions(t, w)
	// The audit log tells when the time is over: somebody renews a lease every few seconds.
	world.Eventually(t, 2*idleTime, fmt.Sprintf("%s pass on the clock of the audit log", idleTime), func() error {
		if passed := latest(t, w).Sub(began); passed <= idleTime {
			return fmt.Errorf("%s have passed", passed)
		}
		return nil
	})
	if diff := cmp.Diff(before, resourceVersions(t, w)); diff != "" {
		t.Errorf("resourceVersions before and after the idle time (-before +after):\n%s", diff)
	}
	if len(before) < 4*idleTeamSpaces {
		t.Errorf("only %d objects were looked at", len(before))
	}

	renewals := 0
	requests := w.AuditEvents(t, func(e world.AuditEvent) bool {
		return (e.User.Name == world.ManagerUser || e.User.Name == world.WebhookUser) && e.Time.After(began) && e.Time.Before(began.Add(idleTime))
	})
	for _, request := range requests {
		switch {
		case request.Verb == "watch":
		case isLease(request) && request.Verb == "get":
		case isLease(request) && request.Verb == "update":
			renewals++
		default:
			t.Errorf("with nothing to do the manager asked: %s", request)
		}
	}
	// Renewals every two seconds show that it was the manager that was counted.
	if renewals < 20 {
		t.Errorf("the lease was renewed %d times in %s, want at least 20", renewals, idleTime)
	}
}

func isLease(e world.AuditEvent) bool {
	return e.Object.Resource == "leases" && e.Object.Name == world.LeaseName && e.Object.Namespace == world.ReleaseNamespace
}

// latest is the time of the last request in the audit log, whoever made it.
func latest(t *testing.T, w *world.World) time.Time {
	t.Helper()
	var last time.Time
	w.AuditEvents(t, func(e world.AuditEvent) bool {
		if e.Time.After(last) {
			last = e.Time
		}
		return false
	})
	return last
}

// resourceVersions are those of all TeamSpaces, their namespaces, quotas and
// LimitRanges.
func resourceVersions(t *testing.T, w *world.World) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), world.Patience)
	defer cancel()
	versions := map[string]string{}
	for _, list := range []client.ObjectList{
		&v1alpha1.TeamSpaceList{}, &corev1.NamespaceList{}, &corev1.ResourceQuotaList{}, &corev1.LimitRangeList{},
	} {
		if err := w.Client.List(ctx, list); err != nil {
			t.Fatal(err)
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			object, err := meta.Accessor(item)
			if err != nil {
				return err
			}
			versions[fmt.Sprintf("%T %s/%s", item, object.GetNamespace(), object.GetName())] = object.GetResourceVersion()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return versions
}
