package audit

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/proxy"
	"labhub.io/teamspace/test/world"
)

// wantFinding is one finding of an object, whose message and fix have these words.
func wantFinding(t *testing.T, r report, kind, name, rule string, words ...string) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Object.Kind != kind || f.Object.Name != name || f.Rule != rule {
			continue
		}
		for _, word := range words {
			if told := f.Message + "; " + f.Fix; !strings.Contains(told, word) {
				t.Errorf("%s of %s %s lacks %q: %s", rule, kind, name, word, told)
			}
		}
		return
	}
	t.Errorf("%s %s has %s, want %s", kind, name, describe(r.of(kind, name)), rule)
}

// TestCase_ClusterScoped is C03 and C21: an owner in a namespace never takes a
// cluster-scoped object along, and no webhook is shown one of these; a foreground deletion
// of the owner never ends (F5), until the reference is dropped.
func TestCase_ClusterScoped(t *testing.T) {
	w := lab.World(t)
	c := newCast(t, w, "c03")
	const configuration = "ValidatingWebhookConfiguration"
	create(t, w, "admissionregistration.k8s.io/v1", configuration, "", "c03", ref(c.here, blocking))
	create(t, w, "rbac.authorization.k8s.io/v1", "ClusterRole", "", "c03", ref(c.here))
	got := audit(t, w, 1)
	wantFinding(t, got, configuration, "c03", "R05", "would never delete", "a foreground deletion of the owner would never end", "(H1)", "own it by a cluster-scoped object")
	wantFinding(t, got, "ClusterRole", "c03", "R05", "would never delete")
	if err := w.Client.Delete(t.Context(), c.here, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		t.Fatal(err)
	}
	got = audit(t, w, 1)
	wantFinding(t, got, configuration, "c03", "F5", "blocks Widget c03/w for ever", "delete Widget c03/w again with --cascade=background")
	audit(t, w, 1, "--fix", "--yes")
	got = audit(t, w, 0)
	if left := got.of(configuration, "c03"); left != nil {
		t.Errorf("after the fix: %s", describe(left))
	}
}

// TestCase_Deadlocks: what blocks itself, and what cannot be judged and blocks another
// (F6, F7).
func TestCase_Deadlocks(t *testing.T) {
	w := lab.World(t)
	c := newCast(t, w, "deadlock")
	create(t, w, "v1", "Secret", c.ns, "f7", ref(c.here, blocking), ref(c.here, kind("nowhere.example/v1", "Gizmo"), uid(nobody)))
	itself := create(t, w, acme, "Widget", c.ns, "f6")
	setOwners(t, w, itself, ref(itself, blocking))
	got := audit(t, w, 1, "-n", c.ns)
	wantFinding(t, got, "Secret", "f7", "F7", `a foreground deletion of Widget "w" would wait`)
	wantFinding(t, got, "Widget", "f6", "F6", "a foreground deletion of it would never end")
	for _, o := range []*unstructured.Unstructured{c.here, itself} {
		if err := w.Client.Delete(t.Context(), o, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			t.Fatal(err)
		}
	}
	got = audit(t, w, 1, "-n", c.ns)
	wantFinding(t, got, "Secret", "f7", "F7", "until its other owners can be judged", "again with --cascade=background")
	wantFinding(t, got, "Widget", "f6", "F6", "blocks its own deletion for ever", "again with --cascade=background")
}

// TestCase_Latent is C04 and C09: nothing makes the collector look at what was edited in
// place, or at what it has had the time to delete, until it starts anew (R17).
func TestCase_Latent(t *testing.T) {
	w := lab.World(t)
	c := newCast(t, w, "c09")
	create(t, w, "v1", "Secret", c.ns, "cert", ref(c.there))
	job := create(t, w, acme, "Gadget", c.ns, "edited", ref(c.here))
	setOwners(t, w, job, ref(c.here, kind(acme, "Gadget")))
	world.Eventually(t, world.CollectorPatience, "the audit calls them latent", func() error {
		got := audit(t, w, 1, "-n", c.ns)
		for _, f := range got.Findings {
			if !f.Latent || f.Severity != "error" || f.Verdict != "delete" || !strings.Contains(f.Message, "at the next restart of kube-controller-manager") {
				return fmt.Errorf("got %+v", f)
			}
		}
		wantFinding(t, got, "Gadget", "edited", "R15")
		wantFinding(t, got, "Secret", "cert", "R13")
		return nil
	})
}

// TestCase_Versions is C11 and C24: the group that was forgotten, and the version that is
// not served any more, with the right one named.
func TestCase_Versions(t *testing.T) {
	w := lab.World(t)
	c := newCast(t, w, "c24")
	labels := map[string]string{"app": "d"}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "d"}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: podTemplate(labels),
	}}
	createObject(t, w, deployment)
	create(t, w, "v1", "Secret", c.ns, "c11", metav1.OwnerReference{APIVersion: "v1", Kind: "deployment", Name: "d", UID: deployment.UID})
	create(t, w, "v1", "Secret", c.ns, "c24", ref(c.here, kind("acme.example/v1alpha1", "Widget")))
	got := audit(t, w, 1, "-n", c.ns)
	wantFinding(t, got, "Secret", "c11", "R06", "v1 has no kind deployment", "apps/v1 Deployment")
	wantFinding(t, got, "Secret", "c24", "R06", "would never delete this Secret", "acme.example/v1 ")
	audit(t, w, 1, "-n", c.ns, "--fix", "--yes")
	audit(t, w, 0, "-n", c.ns)
}

func podTemplate(labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "none", Image: "none"}}},
	}
}

// TestCase_OneParent is C25: of two children of one missing parent each is told what
// becomes of it.
func TestCase_OneParent(t *testing.T) {
	w := lab.World(t)
	c := newCast(t, w, "c25")
	create(t, w, "rbac.authorization.k8s.io/v1", "ClusterRole", "", "c25", ref(c.here, named("gone"), uid(nobody)))
	create(t, w, "v1", "Secret", c.ns, "c25", ref(c.here, named("gone"), uid(nobody)))
	got := audit(t, w, 1)
	wantFinding(t, got, "ClusterRole", "c25", "R05", "would never delete this ClusterRole")
	wantFinding(t, got, "Secret", "c25", "R11", "would delete this Secret")
	for _, f := range got.Findings {
		if want := map[string]string{"ClusterRole": "never collected", "Secret": "delete"}[f.Object.Kind]; f.Object.Name == "c25" && f.Verdict != want {
			t.Errorf("%s: verdict %q", f.Object.Kind, f.Verdict)
		}
	}
}

// TestCase_Valid is C22, C23, C28 and C57: whatever a reference costs, if it is right it is
// no finding, and neither is an object with several owners.
func TestCase_Valid(t *testing.T) {
	w := lab.World(t)
	c := newCast(t, w, "c22")
	second := create(t, w, acme, "Widget", c.ns, "two")
	create(t, w, "v1", "ServiceAccount", c.ns, "shared", ref(c.here))
	create(t, w, "v1", "ConfigMap", c.ns, "both", ref(c.here), ref(second, blocking))
	create(t, w, "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "c57", ref(c.global, blocking))
	if got := audit(t, w, 0); len(got.Findings) > 0 {
		t.Errorf("found %+v", got.Findings)
	}
	if text := w.MustPlugin(t, 0, "audit"); text != "0 error, 0 warning, 0 info, 0 incomplete\n" {
		t.Errorf("printed %q", text)
	}
}

// TestCase_ClaimTemplates is row H3: what a StatefulSet writes into every claim.
func TestCase_ClaimTemplates(t *testing.T) {
	w := lab.World(t)
	c := newCast(t, w, "h3")
	createObject(t, w, statefulSet(c.ns, "db",
		corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "plain"}},
		corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Finalizers: []string{"acme.example/keep"}, OwnerReferences: []metav1.OwnerReference{
			ref(c.here), ref(c.here, named("ghost"), uid(nobody)),
		}}},
	))
	got := audit(t, w, 1, "-n", c.ns)
	if found := got.of("StatefulSet", "db"); !slices.Equal(found, []string{"warning H3", "warning H3", "info H3"}) {
		t.Errorf("found %s", describe(found))
	}
	text := w.MustPlugin(t, 1, "audit", "-n", c.ns)
	for _, words := range []string{
		`spec.volumeClaimTemplates[1].metadata.ownerReferences[1].name: Widget "ghost" does not exist`,
		"every claim of this StatefulSet is owned by Widget w", "is made with acme.example/keep",
	} {
		if !strings.Contains(text, words) {
			t.Errorf("it lacks %q: %s", words, text)
		}
	}
}

// TestCase_ClaimTemplatesExpired: whoever reads StatefulSets page by page goes on where a
// page has expired, or begins anew, and tells of each template once.
func TestCase_ClaimTemplatesExpired(t *testing.T) {
	w := lab.World(t)
	ns := namespace(t, w, "h3-pages")
	for _, name := range []string{"a", "b", "c"} {
		createObject(t, w, statefulSet(ns, name, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Finalizers: []string{"acme.example/keep"}}}))
	}
	p := proxy.Start(t, w.Admin)
	flags := through(t, w, p, ns)
	for _, goesOn := range []bool{true, false} {
		expired := 0
		p.Handle(func(rw http.ResponseWriter, r *proxy.Request, pass http.HandlerFunc) {
			query := r.URL.Query()
			if query.Get("limit") != "200" {
				pass(rw, r.Request)
				return
			}
			token := query.Get("continue")
			if token != "" && expired < 2 {
				expired++
				err := apierrors.NewResourceExpired("the token is too old")
				if goesOn {
					err.ErrStatus.Continue = token
				}
				proxy.Refuse(rw, err)
				return
			}
			query.Set("limit", "1")
			r.URL.RawQuery = query.Encode()
			pass(rw, r.Request)
		})
		got := parse(t, w.MustPlugin(t, 1, append(flags, "audit", "-n", ns, "-o", "json")...))
		if expired != 2 || len(got.Findings) != 3 {
			t.Errorf("goes on: %t: %d pages expired, found %+v", goesOn, expired, got.Findings)
		}
		for _, name := range []string{"a", "b", "c"} {
			wantFinding(t, got, "StatefulSet", name, "H3", "is made with acme.example/keep")
		}
	}
}

// statefulSet has no pods, and claims one gibibyte for each template.
func statefulSet(ns, name string, templates ...corev1.PersistentVolumeClaim) *appsv1.StatefulSet {
	labels := map[string]string{"app": name}
	for i := range templates {
		templates[i].Spec = corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}
	}
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: podTemplate(labels), VolumeClaimTemplates: templates,
	}}
}

// TestCase_Lost: who clears the finalizers of a namespace's spec leaves behind what was in
// it (C35, N5).
func TestCase_Lost(t *testing.T) {
	w := lab.World(t)
	ns := namespace(t, w, "lost")
	create(t, w, "v1", "ConfigMap", ns, "left")
	audit(t, w, 0, "-n", ns)
	w.MustKubectl(t, "delete", "namespace", ns, "--wait=false")
	w.MustShell(t, `kubectl get namespace `+ns+` -o json | sed 's/"kubernetes"//' | kubectl replace --raw /api/v1/namespaces/`+ns+`/finalize -f - >/dev/null`)
	wantFinding(t, audit(t, w, 1), "ConfigMap", "left", "N5", "namespace lost does not exist", "kubectl create namespace lost")
	wantFinding(t, audit(t, w, 1, "-n", ns), "ConfigMap", "left", "N5")
}
