package lifecycle

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// kstatus is what tools that wait for objects of any kind make of a TeamSpace.
func kstatus(t *testing.T, ts *v1alpha1.TeamSpace) status.Status {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(ts)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

// kubectlWaits is what `kubectl wait --for=condition=Ready` makes of it: it goes on
// waiting while the condition speaks of an earlier generation.
func kubectlWaits(ts *v1alpha1.TeamSpace) bool {
	ready := meta.FindStatusCondition(ts.Status.Conditions, v1alpha1.ConditionReady)
	return ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration < ts.Generation
}

func TestReady_OnlyWhenTheQuotaIsInForce(t *testing.T) {
	w := lab.World(t)
	w.Stop(t, world.ControllerManager)
	w.Create(t, world.TeamSpace("unforced", 4, "1"))
	ts := w.AwaitCondition(t, "unforced", v1alpha1.ConditionQuotaInForce, metav1.ConditionFalse, "AwaitingQuotaController")
	for conditionType, want := range map[string]metav1.ConditionStatus{
		"Ready": metav1.ConditionFalse, "Reconciling": metav1.ConditionTrue, "NamespaceReady": metav1.ConditionTrue,
	} {
		if !meta.IsStatusConditionPresentAndEqual(ts.Status.Conditions, conditionType, want) {
			t.Errorf("%s is not %s: %+v", conditionType, want, ts.Status.Conditions)
		}
	}
	if got := kstatus(t, ts); got != status.InProgressStatus {
		t.Errorf("kstatus = %s, want InProgress", got)
	}
	answer := w.Kubectl(t, "wait", "teamspace/unforced", "--for=condition=Ready", "--timeout=3s")
	if answer.Code == 0 || !strings.Contains(answer.Out, "timed out") {
		t.Errorf("kubectl wait: exit code %d, want that it times out:\n%s", answer.Code, answer.Out)
	}

	w.Start(t, world.ControllerManager)
	w.MustKubectl(t, "wait", "teamspace/unforced", "--for=condition=Ready", "--timeout=60s")
	ts = w.AwaitReady(t, "unforced")
	if got := kstatus(t, ts); got != status.CurrentStatus || meta.FindStatusCondition(ts.Status.Conditions, "Reconciling") != nil {
		t.Errorf("kstatus = %s, want Current; conditions %+v, want no Reconciling", got, ts.Status.Conditions)
	}
}

func TestReady_GoesWhenTheQuotaGoesOutOfForce(t *testing.T) {
	w := lab.World(t)
	ts := w.Serve(t, world.TeamSpace("outgrown", 4, "1"))
	w.Stop(t, world.ControllerManager)
	w.Patch(t, ts, `{"spec": {"pods": 6}}`)
	ts = w.AwaitTeamSpace(t, "outgrown", "the change is seen", func(ts *v1alpha1.TeamSpace) bool { return ts.Status.ObservedGeneration == 2 })
	if isTrue(ts, "Ready") || kstatus(t, ts) != status.InProgressStatus {
		t.Errorf("the quota is not in force, but conditions are %+v", ts.Status.Conditions)
	}
	awaitSpecs(t, w, "outgrown", declared("6", "1"), share("166m"))
	w.Start(t, world.ControllerManager)
	w.AwaitReady(t, "outgrown")
}

// TestReady_kstatusAndKubectlAgree looks at every version that there is of a TeamSpace
// from its creation to its end.
func TestReady_kstatusAndKubectlAgree(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	versions, err := w.Client.Watch(t.Context(), &v1alpha1.TeamSpaceList{},
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", "agreed")})
	if err != nil {
		t.Fatal(err)
	}
	defer versions.Stop()

	ts := world.TeamSpace("agreed", 4, "1")
	ts.Finalizers = []string{"example.com/holds"}
	ts = w.Serve(t, ts)
	w.Patch(t, ts, `{"spec": {"pods": 5}}`)
	w.AwaitReady(t, "agreed")
	w.Delete(t, world.Quota("agreed"))
	w.Patch(t, ts, `{"spec": {"cpu": "2"}}`)
	w.AwaitReady(t, "agreed")
	w.Delete(t, ts)
	ts = w.AwaitCondition(t, "agreed", v1alpha1.ConditionArchived, metav1.ConditionTrue, v1alpha1.ReasonArchiveWritten)
	if got := kstatus(t, ts); got != status.TerminatingStatus {
		t.Errorf("kstatus while it is held = %s, want Terminating", got)
	}
	w.Patch(t, ts, `{"metadata": {"finalizers": null}}`)
	w.AwaitGone(t, ts)

	seen := 0
	for {
		select {
		case event := <-versions.ResultChan():
			version, ok := event.Object.(*v1alpha1.TeamSpace)
			if !ok {
				t.Fatalf("the watch sent %v", event)
			}
			if event.Type == watch.Deleted {
				if seen < 8 {
					t.Errorf("only %d versions were looked at", seen)
				}
				return
			}
			seen++
			if err := disagreement(t, version); err != nil {
				t.Errorf("version %d: %v\ngeneration %d, deletionTimestamp %v, status %+v",
					seen, err, version.Generation, version.DeletionTimestamp, version.Status)
			}
		case <-time.After(world.Patience):
			t.Fatal("the watch does not tell of the end")
		}
	}
}

// disagreement is an error if those who wait would not make the same of a version.
func disagreement(t *testing.T, ts *v1alpha1.TeamSpace) error {
	t.Helper()
	if len(ts.Status.Conditions) == 0 {
		return nil // before the first status write nobody can tell
	}
	computed := kstatus(t, ts)
	if !ts.DeletionTimestamp.IsZero() {
		if computed != status.TerminatingStatus || !kubectlWaits(ts) {
			return fmt.Errorf("it is being deleted; kstatus says %s, kubectl waits: %v", computed, kubectlWaits(ts))
		}
		return nil
	}
	if (computed == status.CurrentStatus) == kubectlWaits(ts) {
		return fmt.Errorf("kstatus says %s, kubectl waits: %v", computed, kubectlWaits(ts))
	}
	if computed != status.CurrentStatus && computed != status.InProgressStatus {
		return errors.New("kstatus says " + string(computed))
	}
	return nil
}
