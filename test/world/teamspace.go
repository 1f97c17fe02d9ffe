package world

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
)

// TeamSpace returns one to be created.
func TeamSpace(name string, pods int32, cpu string) *v1alpha1.TeamSpace {
	return &v1alpha1.TeamSpace{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.TeamSpaceSpec{Pods: pods, CPU: cpu},
	}
}

// Quota is the quota of a team without anything but its name, to be read into or
// deleted.
func Quota(teamSpace string) *corev1.ResourceQuota {
	return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.NamespaceFor(teamSpace), Name: v1alpha1.QuotaName}}
}

// LimitRange is the LimitRange of a team without anything but its name, to be read
// into or deleted.
func LimitRange(teamSpace string) *corev1.LimitRange {
	return &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.NamespaceFor(teamSpace), Name: v1alpha1.LimitRangeName}}
}

// Create creates objects as administrator.
func (w *World) Create(t testing.TB, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := w.Client.Create(t.Context(), object); err != nil {
			t.Fatalf("creating %q: %v", object.GetName(), err)
		}
	}
}

// Delete deletes objects as administrator, in the background.
func (w *World) Delete(t testing.TB, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := w.Client.Delete(t.Context(), object); err != nil {
			t.Fatalf("deleting %q: %v", object.GetName(), err)
		}
	}
}

// Get reads an object that has to be there.
func (w *World) Get(t testing.TB, object client.Object) {
	t.Helper()
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatalf("reading %q: %v", object.GetName(), err)
	}
}

// Patch changes an object as administrator by a merge patch, and reads the answer
// into it.
func (w *World) Patch(t testing.TB, object client.Object, mergePatch string) {
	t.Helper()
	if err := w.Client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(mergePatch))); err != nil {
		t.Fatalf("patching %q with %s: %v", object.GetName(), mergePatch, err)
	}
}

// AwaitGone waits until an object is not there any more.
func (w *World) AwaitGone(t testing.TB, object client.Object) {
	t.Helper()
	Eventually(t, CollectorPatience, fmt.Sprintf("%T %q is gone", object, object.GetName()), func() error {
		err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("it is there, with deletionTimestamp %v and finalizers %q", object.GetDeletionTimestamp(), object.GetFinalizers())
		}
		return err
	})
}

// Serve creates a TeamSpace and returns it when it is Ready.
func (w *World) Serve(t testing.TB, ts *v1alpha1.TeamSpace) *v1alpha1.TeamSpace {
	t.Helper()
	w.Create(t, ts)
	return w.AwaitReady(t, ts.Name)
}

// AwaitReady returns a TeamSpace when it is Ready in its present generation.
func (w *World) AwaitReady(t testing.TB, name string) *v1alpha1.TeamSpace {
	t.Helper()
	return w.AwaitTeamSpace(t, name, "it is Ready", IsReady)
}

// IsReady says whether a TeamSpace is Ready in its present generation.
func IsReady(ts *v1alpha1.TeamSpace) bool {
	return ts.Status.ObservedGeneration == ts.Generation &&
		meta.IsStatusConditionTrue(ts.Status.Conditions, v1alpha1.ConditionReady)
}

// AwaitCondition returns a TeamSpace when a condition has this status and reason.
func (w *World) AwaitCondition(t testing.TB, name, conditionType string, status metav1.ConditionStatus, reason string) *v1alpha1.TeamSpace {
	t.Helper()
	what := fmt.Sprintf("%s is %s, %s", conditionType, status, reason)
	return w.AwaitTeamSpace(t, name, what, func(ts *v1alpha1.TeamSpace) bool {
		c := meta.FindStatusCondition(ts.Status.Conditions, conditionType)
		return c != nil && c.Status == status && c.Reason == reason
	})
}

// AwaitTeamSpace returns a TeamSpace when it is as wanted.
func (w *World) AwaitTeamSpace(t testing.TB, name, what string, wanted func(*v1alpha1.TeamSpace) bool) *v1alpha1.TeamSpace {
	t.Helper()
	ts := TeamSpace(name, 0, "")
	Eventually(t, CollectorPatience, fmt.Sprintf("TeamSpace %q: %s", name, what), func() error {
		*ts = v1alpha1.TeamSpace{}
		if err := w.Client.Get(t.Context(), client.ObjectKey{Name: name}, ts); err != nil {
			return err
		}
		if !wanted(ts) {
			return fmt.Errorf("generation %d, deletionTimestamp %v, finalizers %q, status %+v", ts.Generation, ts.DeletionTimestamp, ts.Finalizers, ts.Status)
		}
		return nil
	})
	return ts
}

// EventsOf returns the events about a TeamSpace that have this reason, and how many
// times in all it was told.
func (w *World) EventsOf(t testing.TB, teamSpace, reason string) (events []eventsv1.Event, times int) {
	t.Helper()
	var list eventsv1.EventList
	if err := w.Client.List(t.Context(), &list); err != nil {
		t.Fatalf("listing events: %v", err)
	}
	for _, event := range list.Items {
		if event.Regarding.Kind != v1alpha1.GroupVersionKind.Kind || event.Regarding.Name != teamSpace || event.Reason != reason {
			continue
		}
		events = append(events, event)
		times++
		if event.Series != nil {
			times += int(event.Series.Count) - 1 // the series counts the first one too
		}
	}
	return events, times
}
