package conflict

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// ownedBy is the one reference that the namespace of a TeamSpace has.
func ownedBy(ts *v1alpha1.TeamSpace) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: "platform.labhub.io/v1alpha1", Kind: "TeamSpace", Name: ts.Name, UID: ts.UID,
		Controller: new(true), BlockOwnerDeletion: new(true),
	}}
}

// settled waits until the controllers of Kubernetes have done what they do to every
// new namespace, and returns it.
func settled(t *testing.T, w *world.World, teamSpace string) *corev1.Namespace {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.NamespaceFor(teamSpace), Name: "default"}}
	world.Eventually(t, world.Patience, "the namespace is filled", func() error {
		return w.Client.Get(t.Context(), client.ObjectKeyFromObject(account), account)
	})
	ns := world.TeamNamespace(teamSpace)
	w.Get(t, ns)
	return ns
}

// awaitConflict returns a TeamSpace when it is Stalled over its namespace.
func awaitConflict(t *testing.T, w *world.World, name string) *v1alpha1.TeamSpace {
	t.Helper()
	return w.AwaitCondition(t, name, v1alpha1.ConditionStalled, metav1.ConditionTrue, "NamespaceConflict")
}

func TestConflict_ExistingNamespaceIsNotTouched(t *testing.T) {
	for name, tc := range map[string]struct {
		teamSpace string
		ns        metav1.ObjectMeta
	}{
		"a plain one":                            {teamSpace: "plain"},
		"with the label of the TeamSpace only":   {teamSpace: "labelled", ns: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelTeamSpace: "labelled"}}},
		"handed over to another":                 {teamSpace: "elsewhere", ns: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationAdopt: "somebody"}}},
		"with a quota of the same name in it":    {teamSpace: "quota"},
		"with the label and handed to another":   {teamSpace: "both", ns: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelTeamSpace: "both"}, Annotations: map[string]string{v1alpha1.AnnotationAdopt: "bot"}}},
		"with the label of another TeamSpace":    {teamSpace: "mislabelled", ns: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelTeamSpace: "other"}}},
		"held by a finalizer of somebody else's": {teamSpace: "finalized", ns: metav1.ObjectMeta{Finalizers: []string{"example.com/holds"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := lab.World(t)
			ns := world.TeamNamespace(tc.teamSpace)
			tc.ns.Name = ns.Name
			ns.ObjectMeta = tc.ns
			w.Create(t, ns)
			quota := world.Quota(tc.teamSpace)
			quota.Spec.Hard = corev1.ResourceList{}
			w.Create(t, quota)
			ns = settled(t, w, tc.teamSpace)

			w.Create(t, world.TeamSpace(tc.teamSpace, 4, "1"))
			ts := awaitConflict(t, w, tc.teamSpace)
			checkStalled(t, ts)
			world.Never(t, 2*time.Second, "the namespace of somebody else", func() error {
				now := world.TeamNamespace(tc.teamSpace)
				w.Get(t, now)
				if diff := cmp.Diff(ns, now); diff != "" {
					return fmt.Errorf("changed (-before +after):\n%s", diff)
				}
				return nil
			})
			if writes := w.AuditEvents(t, func(e world.AuditEvent) bool {
				return e.User.Name == world.ManagerUser && e.Writes() && e.Response.Code < 300 &&
					(e.Object.Namespace == ns.Name || e.Object.Resource == "namespaces" && e.Object.Name == ns.Name)
			}); len(writes) > 0 {
				t.Errorf("the manager wrote into it: %v", writes)
			}
			if _, times := w.EventsOf(t, tc.teamSpace, "NamespaceConflict"); times != 1 {
				t.Errorf("told %d times by events, want once", times)
			}
		})
	}
}

func checkStalled(t *testing.T, ts *v1alpha1.TeamSpace) {
	t.Helper()
	for conditionType, want := range map[string]metav1.ConditionStatus{"Ready": metav1.ConditionFalse, "NamespaceReady": metav1.ConditionFalse, "QuotaInForce": metav1.ConditionFalse} {
		if !meta.IsStatusConditionPresentAndEqual(ts.Status.Conditions, conditionType, want) {
			t.Errorf("%s is not %s: %+v", conditionType, want, ts.Status.Conditions)
		}
	}
	if meta.FindStatusCondition(ts.Status.Conditions, "Reconciling") != nil {
		t.Errorf("both Stalled and Reconciling: %+v", ts.Status.Conditions)
	}
}

func TestConflict_ServedAtOnceWhenTheNamespaceGoes(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	w.Create(t, world.TeamNamespace("obstacle"))
	ns := settled(t, w, "obstacle")
	w.Create(t, world.TeamSpace("obstacle", 4, "1"))
	awaitConflict(t, w, "obstacle")
	w.Delete(t, ns)
	ts := w.AwaitReady(t, "obstacle")
	if meta.FindStatusCondition(ts.Status.Conditions, "Stalled") != nil {
		t.Errorf("Ready and Stalled: %+v", ts.Status.Conditions)
	}
	fresh := world.TeamNamespace("obstacle")
	w.Get(t, fresh)
	if diff := cmp.Diff(ownedBy(ts), fresh.OwnerReferences); diff != "" || fresh.UID == ns.UID {
		t.Errorf("uid %s, before %s, ownerReferences (-want +got):\n%s", fresh.UID, ns.UID, diff)
	}
	// At once: no more than a second after the obstacle went, by the clock of one log.
	var gone, made time.Time
	w.AuditEvents(t, func(e world.AuditEvent) bool {
		switch {
		case e.Object.Resource != "namespaces" || e.Object.Name != "team-obstacle" || e.Response.Code >= 300:
		case e.Verb == "update" && e.Object.Subresource == "finalize":
			gone = e.Time
		case e.User.Name == world.ManagerUser && e.Verb == "create":
			made = e.Time
		}
		return false
	})
	if took := made.Sub(gone); gone.IsZero() || took < 0 || took > time.Second {
		t.Errorf("the obstacle went at %s, and the namespace was made at %s", gone, made)
	}
}

func TestConflict_DeletionLeavesTheNamespaceOfSomebodyElse(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	w.Create(t, world.TeamNamespace("foreign"))
	ns := settled(t, w, "foreign")
	ts := world.TeamSpace("foreign", 4, "1")
	w.Create(t, ts)
	awaitConflict(t, w, "foreign")
	w.Delete(t, ts)
	w.AwaitGone(t, ts)
	world.Never(t, 2*time.Second, "the namespace of somebody else", func() error {
		now := world.TeamNamespace("foreign")
		w.Get(t, now)
		if diff := cmp.Diff(ns, now); diff != "" {
			return fmt.Errorf("changed (-before +after):\n%s", diff)
		}
		return nil
	})
}

func TestAdoption_ByAnnotation(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	w.Create(t, world.TeamNamespace("adopted"))
	ns := settled(t, w, "adopted")
	inside := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "data"}}
	w.Create(t, inside, world.TeamSpace("adopted", 4, "1"))
	awaitConflict(t, w, "adopted")
	w.MustKubectl(t, "annotate", "namespace", ns.Name, "platform.labhub.io/adopt=adopted", "example.com/note=ours")

	checkAdopted(t, w, w.AwaitReady(t, "adopted"), ns)
	w.Get(t, inside)
	w.Get(t, ns)
	if ns.Annotations["example.com/note"] != "ours" {
		t.Errorf("annotations %v, want the foreign one kept", ns.Annotations)
	}
	if _, times := w.EventsOf(t, "adopted", "Adopted"); times != 1 {
		t.Errorf("told %d times by events, want once", times)
	}
}

// checkAdopted compares a namespace with that which was handed over.
func checkAdopted(t *testing.T, w *world.World, ts *v1alpha1.TeamSpace, was *corev1.Namespace) {
	t.Helper()
	ns := world.TeamNamespace(ts.Name)
	w.Get(t, ns)
	if ns.UID != was.UID || !ns.DeletionTimestamp.IsZero() {
		t.Errorf("namespace %s: uid %s, deletionTimestamp %v, want the same as before, %s", ns.Name, ns.UID, ns.DeletionTimestamp, was.UID)
	}
	if diff := cmp.Diff(ownedBy(ts), ns.OwnerReferences); diff != "" {
		t.Errorf("ownerReferences (-want +got):\n%s", diff)
	}
	if _, still := ns.Annotations[v1alpha1.AnnotationAdopt]; still || ns.Labels[v1alpha1.LabelTeamSpace] != ts.Name {
		t.Errorf("labels %v, annotations %v, want ours and no %s any more", ns.Labels, ns.Annotations, v1alpha1.AnnotationAdopt)
	}
	quota := world.Quota(ts.Name)
	w.Get(t, quota)
	if quota.Spec.Hard.Pods().Value() != int64(ts.Spec.Pods) {
		t.Errorf("quota %v, want %d pods", quota.Spec.Hard, ts.Spec.Pods)
	}
}

// A namespace that is handed over before there is the TeamSpace is never in conflict.
func TestAdoption_BeforeTheTeamSpace(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := world.TeamNamespace("expected")
	ns.Annotations = map[string]string{v1alpha1.AnnotationAdopt: "expected"}
	w.Create(t, ns)
	checkAdopted(t, w, w.Serve(t, world.TeamSpace("expected", 4, "1")), ns)
	if _, times := w.EventsOf(t, "expected", "NamespaceConflict"); times != 0 {
		t.Errorf("told %d times of a conflict", times)
	}
}

// The collector takes a namespace whose reference names an earlier TeamSpace. Without
// the reference it stays, and waits for a person.
func TestStaleReference_IsDropped(t *testing.T) {
	w := lab.World(t)
	w.Create(t, world.TeamSpace("restored", 4, "1"))
	ts := w.AwaitReady(t, "restored")
	w.Stop(t, world.Manager)
	w.Stop(t, world.ControllerManager)
	// As a restore would leave it: the same name, another uid.
	w.Patch(t, ts, `{"metadata": {"finalizers": null}}`)
	w.Delete(t, ts)
	ns := world.TeamNamespace("restored")
	w.Get(t, ns)
	again := world.TeamSpace("restored", 4, "1")
	w.Create(t, again)
	w.Start(t, world.Manager)
	awaitConflict(t, w, "restored")
	w.Start(t, world.ControllerManager)
	world.Never(t, 5*time.Second, "the namespace of the earlier TeamSpace", func() error {
		now := world.TeamNamespace("restored")
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(now), now); apierrors.IsNotFound(err) || len(now.OwnerReferences) > 0 || !now.DeletionTimestamp.IsZero() {
			return fmt.Errorf("ownerReferences %v, deletionTimestamp %v, %w", now.OwnerReferences, now.DeletionTimestamp, err)
		}
		return nil
	})
	w.MustKubectl(t, "annotate", "namespace", ns.Name, "platform.labhub.io/adopt=restored")
	checkAdopted(t, w, w.AwaitReady(t, "restored"), ns)
}

// TestConflict_ReferenceAlone: the right reference without the label is not enough, and
// the controller does not touch a namespace that somebody took the label off.
func TestConflict_ReferenceAlone(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ts := w.Serve(t, world.TeamSpace("unlabelled", 4, "1"))
	ns := world.TeamNamespace(ts.Name)
	w.Patch(t, ns, `{"metadata": {"labels": {"platform.labhub.io/teamspace": null}}}`)
	checkStalled(t, awaitConflict(t, w, ts.Name))
	w.Patch(t, world.Quota(ts.Name), `{"spec": {"hard": {"pods": "9"}}}`)
	world.Never(t, 2*time.Second, "the namespace and its quota", func() error {
		now, quota := world.TeamNamespace(ts.Name), world.Quota(ts.Name)
		w.Get(t, now)
		w.Get(t, quota)
		if diff := cmp.Diff(ns.ObjectMeta, now.ObjectMeta); diff != "" || quota.Spec.Hard.Pods().Value() != 9 {
			return fmt.Errorf("a quota of %v, the namespace changed (-before +after):\n%s", quota.Spec.Hard, diff)
		}
		return nil
	})
	if _, times := w.EventsOf(t, ts.Name, "NamespaceConflict"); times != 1 {
		t.Errorf("told %d times by events, want once", times)
	}
	w.MustKubectl(t, "annotate", "namespace", ns.Name, "platform.labhub.io/adopt="+ts.Name)
	checkAdopted(t, w, w.AwaitReady(t, ts.Name), ns)
}

// TestConflict_OfAnotherTeamSpace: what another TeamSpace controls cannot be handed over.
func TestConflict_OfAnotherTeamSpace(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	owner := w.Serve(t, world.TeamSpace("owner", 4, "1"))
	ns := world.TeamNamespace("owned")
	ns.Labels = map[string]string{v1alpha1.LabelTeamSpace: "owned"}
	ns.Annotations = map[string]string{v1alpha1.AnnotationAdopt: "owned"}
	ns.OwnerReferences = ownedBy(owner)
	w.Create(t, ns)
	ns = settled(t, w, "owned")
	w.Create(t, world.TeamSpace("owned", 4, "1"))
	checkStalled(t, awaitConflict(t, w, "owned"))
	world.Never(t, 2*time.Second, "the namespace of another TeamSpace", func() error {
		now := world.TeamNamespace("owned")
		w.Get(t, now)
		if diff := cmp.Diff(ns, now); diff != "" {
			return fmt.Errorf("changed (-before +after):\n%s", diff)
		}
		return nil
	})
}

// TestConflict_OwnNamespaces: no TeamSpace gets the namespace of the release or that of
// the archive, whoever hands it over. It has a world in which they have names of teams.
func TestConflict_OwnNamespaces(t *testing.T) {
	w := world.Start(t, world.Options{ChartArchive: true, Flags: []string{
		"--namespace=team-release", "--set=archive.namespace=team-archive", "--set=policies.enabled=false",
	}})
	for _, name := range []string{"release", "archive"} {
		ns := world.TeamNamespace(name)
		w.Patch(t, ns, `{"metadata": {"annotations": {"platform.labhub.io/adopt": "`+name+`"}}}`)
		ts := world.TeamSpace(name, 4, "1")
		w.Create(t, ts)
		awaitConflict(t, w, name)
		w.Delete(t, ts)
		w.AwaitGone(t, ts)
		now := world.TeamNamespace(name)
		w.Get(t, now)
		if diff := cmp.Diff(ns, now); diff != "" {
			t.Errorf("namespace %s changed (-before +after):\n%s", ns.Name, diff)
		}
	}
	// The records of both are in it.
	var records corev1.ConfigMapList
	if err := w.Client.List(t.Context(), &records, client.InNamespace("team-archive"), client.HasLabels{"platform.labhub.io/archived-teamspace"}); err != nil {
		t.Fatal(err)
	}
	if len(records.Items) != 2 {
		t.Errorf("%d records, want 2", len(records.Items))
	}
}
