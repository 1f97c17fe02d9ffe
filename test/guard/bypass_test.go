package guard

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// TestBypass_Spellings: the kind in lower case is the same kind, that of a list is none,
// and an object without a name of its own is judged like any other.
func TestBypass_Spellings(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "spellings")
	alpha := site(t, w, ns, "alpha")
	for kind, want := range map[string]string{"site": "has uid", "SiteList": "is a list", "List": "is a list", "sites": "did you mean", "*v1.Site": "no type can have"} {
		ref := reference(alpha, kind)
		if kind == "site" {
			ref.UID = staleUID
		}
		err := w.Client.Create(t.Context(), configMap(ns, "c", ref))
		if kind == "sites" { // a group that may yet serve it: doubtful
			if err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			continue
		}
		wantDenied(t, err, want)
	}
	generated := configMap(ns, "", ghost())
	generated.GenerateName = "c-"
	wantDenied(t, w.Client.Create(t.Context(), generated), "ghost")
	lower := configMap(ns, "right", reference(alpha, "site"))
	w.Create(t, lower)
}

// TestBypass_Subresources is row H2 with D7: what changes references besides the object
// itself.
func TestBypass_Subresources(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "subresources")
	change, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": []metav1.OwnerReference{ghost()}}})
	if err != nil {
		t.Fatal(err)
	}
	w.Create(t, claim(metav1.ObjectMeta{Namespace: ns, Name: "claim"}))
	volume := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "claim"}}
	wantDenied(t, w.Client.Status().Patch(t.Context(), volume, mergePatch(string(change))), "PersistentVolumeClaim", "the data of its volume")
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	wantDenied(t, w.Client.Status().Patch(t.Context(), space, mergePatch(string(change))), "cluster-scoped")
	w.Get(t, space)
	space.OwnerReferences = []metav1.OwnerReference{ghost()}
	wantDenied(t, w.Client.SubResource("finalize").Update(t.Context(), space), "cluster-scoped")
}

func claim(meta metav1.ObjectMeta) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
}

// TestBypass_Finalizer: our finalizer is dropped by every verb, and stays.
func TestBypass_Finalizer(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	w.Serve(t, world.TeamSpace("kept", 1, "1"))
	const bare = `{"apiVersion":"platform.labhub.io/v1alpha1","kind":"TeamSpace","metadata":{"name":"kept"},"spec":{"pods":1,"cpu":"1"}}`
	for _, tc := range []struct {
		stdin string
		args  []string
		warns bool
	}{
		{args: []string{"patch", "teamspace", "kept", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`}, warns: true},
		{args: []string{"patch", "teamspace", "kept", "--type=merge", "-p", `{"metadata":{"finalizers":["x.example/y"]}}`}, warns: true},
		{args: []string{"patch", "teamspace", "kept", "--type=json", "-p", `[{"op":"remove","path":"/metadata/finalizers"}]`}, warns: true},
		{stdin: bare, args: []string{"replace", "-f", "-"}, warns: true},
		{stdin: bare, args: []string{"apply", "--server-side", "--force-conflicts", "-f", "-"}},
	} {
		answer := w.KubectlWith(t, tc.stdin, tc.args...)
		if answer.Code != 0 || strings.Contains(answer.Out, "has been put back") != tc.warns {
			t.Errorf("kubectl %q: %+v", tc.args, answer)
		}
		ts := world.TeamSpace("kept", 1, "1")
		w.Get(t, ts)
		if !strings.Contains(strings.Join(ts.Finalizers, " "), v1alpha1.Finalizer) {
			t.Errorf("kubectl %q: finalizers %v", tc.args, ts.Finalizers)
		}
	}
}

// TestTeamSpace_Mistakes: a spec of the wrong type is refused with the name of the field,
// whatever the webhooks make of it.
func TestTeamSpace_Mistakes(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	answer := w.KubectlWith(t, `{"apiVersion":"platform.labhub.io/v1alpha1","kind":"TeamSpace","metadata":{"name":"typed"},"spec":{"pods":"five"}}`, "create", "-f", "-")
	if answer.Code != 1 || !strings.Contains(answer.Out, "spec.pods") || strings.Contains(answer.Out, "admission webhook") {
		t.Errorf("got %+v", answer)
	}
	w.Serve(t, world.TeamSpace("lowered", 3, "1"))
}
