package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// declared is the spec of the quota for so many pods and so much cpu.
func declared(pods, cpu string) corev1.ResourceQuotaSpec {
	return corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
		corev1.ResourcePods:        resource.MustParse(pods),
		corev1.ResourceRequestsCPU: resource.MustParse(cpu),
	}}
}

// share is the spec of the LimitRange that gives each container so much cpu.
func share(cpu string) corev1.LimitRangeSpec {
	return corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
		Type:           corev1.LimitTypeContainer,
		DefaultRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
	}}}
}

// semantic compares as the API means it: 1000m is 1.
var semantic = cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })

// awaitSpecs waits until quota and LimitRange of a team are as wanted.
func awaitSpecs(t *testing.T, w *world.World, teamSpace string, wantQuota corev1.ResourceQuotaSpec, wantLimits corev1.LimitRangeSpec) {
	t.Helper()
	world.Eventually(t, world.Patience, "quota and LimitRange are as declared", func() error {
		quota, limits := world.Quota(teamSpace), world.LimitRange(teamSpace)
		w.Get(t, quota)
		w.Get(t, limits)
		if diff := cmp.Diff(wantQuota, quota.Spec, semantic) + cmp.Diff(wantLimits, limits.Spec, semantic); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

// isTrue says whether a condition is True and speaks of the present generation.
func isTrue(ts *v1alpha1.TeamSpace, conditionType string) bool {
	c := meta.FindStatusCondition(ts.Status.Conditions, conditionType)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == ts.Generation
}

func TestServe_ObjectsAndStatus(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ts := w.Serve(t, world.TeamSpace("served", 4, "1"))

	ns := world.TeamNamespace("served")
	w.Get(t, ns)
	if got := ns.Labels["platform.labhub.io/teamspace"]; got != "served" {
		t.Errorf("label platform.labhub.io/teamspace of the namespace is %q, want served", got)
	}
	if diff := cmp.Diff(ownedBy(ts), ns.OwnerReferences); diff != "" {
		t.Errorf("ownerReferences of the namespace (-want +got):\n%s", diff)
	}
	quota, limits := world.Quota("served"), world.LimitRange("served")
	w.Get(t, quota)
	w.Get(t, limits)
	if diff := cmp.Diff(declared("4", "1"), quota.Spec, semantic); diff != "" {
		t.Errorf("quota (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(share("250m"), limits.Spec, semantic); diff != "" {
		t.Errorf("LimitRange (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"platform.labhub.io/cleanup"}, ts.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	if ts.Status.ObservedGeneration != 1 || ts.Status.Namespace != "team-served" {
		t.Errorf("status: observedGeneration %d, namespace %q, want 1 and team-served", ts.Status.ObservedGeneration, ts.Status.Namespace)
	}
	wantUsed := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0"), corev1.ResourceRequestsCPU: resource.MustParse("0")}
	if !equality.Semantic.DeepEqual(wantUsed, ts.Status.Used) {
		t.Errorf("status.used = %v, want %v", ts.Status.Used, wantUsed)
	}
	for _, conditionType := range []string{"Ready", "NamespaceReady", "QuotaInForce"} {
		if !isTrue(ts, conditionType) {
			t.Errorf("condition %s is not True: %+v", conditionType, ts.Status.Conditions)
		}
	}
	if len(ts.Status.Conditions) != 3 {
		t.Errorf("conditions %+v, want these three and neither Reconciling nor Stalled", ts.Status.Conditions)
	}
}

func TestServe_DefaultRequestIsTheShareOfAPod(t *testing.T) {
	w := lab.World(t)
	for name, tc := range map[string]struct {
		teamSpace string
		pods      int32
		cpu, want string
	}{
		"one core for 3 is rounded down":      {teamSpace: "share-1", pods: 3, cpu: "1", want: "333m"},
		"half a core for 50":                  {teamSpace: "share-2", pods: 50, cpu: "500m", want: "10m"},
		"the least there is":                  {teamSpace: "share-3", pods: 50, cpu: "50m", want: "1m"},
		"0.5 for 3":                           {teamSpace: "share-4", pods: 3, cpu: "0.5", want: "166m"},
		"less than a milli-core more is lost": {teamSpace: "share-5", pods: 2, cpu: "3999u", want: "1m"},
		"many cores for one":                  {teamSpace: "share-6", pods: 1, cpu: "1k", want: "1000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.Serve(t, world.TeamSpace(tc.teamSpace, tc.pods, tc.cpu))
			limits := world.LimitRange(tc.teamSpace)
			w.Get(t, limits)
			if diff := cmp.Diff(share(tc.want), limits.Spec, semantic); diff != "" {
				t.Errorf("LimitRange (-want +got):\n%s", diff)
			}
		})
	}
}

func TestServe_NameOf58Characters(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	name := strings.Repeat("long", 14) + "er"
	ts := w.Serve(t, world.TeamSpace(name, 2, "1"))
	if len(ts.Status.Namespace) != 63 {
		t.Errorf("namespace %q has %d characters, want 63", ts.Status.Namespace, len(ts.Status.Namespace))
	}
	ns := world.TeamNamespace(name)
	w.Get(t, ns)
	if ns.Status.Phase != corev1.NamespaceActive || ns.Labels[v1alpha1.LabelTeamSpace] != name {
		t.Errorf("namespace: phase %q, labels %v", ns.Status.Phase, ns.Labels)
	}
	w.Delete(t, ts)
	w.AwaitGone(t, ts)
}

func TestServe_FollowsTheSpec(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ts := w.Serve(t, world.TeamSpace("follows", 4, "1"))
	w.Patch(t, ts, `{"spec": {"pods": 10, "cpu": "2.5"}}`)
	ts = w.AwaitReady(t, "follows")
	if ts.Status.ObservedGeneration != 2 {
		t.Errorf("observedGeneration %d, want 2", ts.Status.ObservedGeneration)
	}
	awaitSpecs(t, w, "follows", declared("10", "2.5"), share("250m"))
	quota := world.Quota("follows")
	w.Get(t, quota)
	if !equality.Semantic.DeepEqual(quota.Status.Hard, quota.Spec.Hard) {
		t.Errorf("Ready, but the quota in force is %v and not %v", quota.Status.Hard, quota.Spec.Hard)
	}
}

func TestServe_LeavesWhatOthersAdded(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ts := w.Serve(t, world.TeamSpace("others", 4, "1"))
	ns, quota, limits := world.TeamNamespace("others"), world.Quota("others"), world.LimitRange("others")
	const added = `{"metadata": {"labels": {"example.com/cost": "12"}, "annotations": {"example.com/note": "ours"}, "finalizers": ["example.com/holds"]}}`
	w.Patch(t, ns, `{"metadata": {"labels": {"example.com/cost": "12"}, "annotations": {"example.com/note": "ours"}}}`)
	w.Patch(t, quota, added)
	w.Patch(t, limits, added)

	// The controller now has to write both, for its own reasons.
	w.Patch(t, quota, `{"spec": {"hard": {"pods": "99", "secrets": "1"}}}`)
	w.Patch(t, ts, `{"spec": {"pods": 5}}`)
	w.AwaitReady(t, "others")
	awaitSpecs(t, w, "others", declared("5", "1"), share("200m"))

	w.Get(t, ns)
	if ns.Labels["example.com/cost"] != "12" || ns.Annotations["example.com/note"] != "ours" {
		t.Errorf("namespace: labels %v, annotations %v", ns.Labels, ns.Annotations)
	}
	w.Get(t, quota)
	w.Get(t, limits)
	for _, object := range []metav1.Object{quota, limits} {
		if object.GetLabels()["example.com/cost"] != "12" || object.GetAnnotations()["example.com/note"] != "ours" || len(object.GetFinalizers()) != 1 {
			t.Errorf("%T: labels %v, annotations %v, finalizers %v", object, object.GetLabels(), object.GetAnnotations(), object.GetFinalizers())
		}
	}
}
