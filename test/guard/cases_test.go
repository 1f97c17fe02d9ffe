package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/world"
)

// owners are what the reports' objects are owned by, in one namespace.
type owners struct {
	w           *world.World
	here, there string
	inDefault   metav1.OwnerReference // to a Site in the namespace default
}

func newOwners(t *testing.T, w *world.World) owners {
	t.Helper()
	o := owners{w: w, here: namespace(t, w, "cases-here"), there: namespace(t, w, "cases-there")}
	d := deploymentSpec()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: o.here, Name: name} }
	w.Create(t,
		&corev1.Pod{ObjectMeta: meta("op"), Spec: d.Template.Spec},
		&appsv1.Deployment{ObjectMeta: meta("op"), Spec: d},
		&appsv1.StatefulSet{ObjectMeta: meta("db"), Spec: appsv1.StatefulSetSpec{Replicas: d.Replicas, Selector: d.Selector, Template: d.Template}},
		&corev1.ConfigMap{ObjectMeta: meta("src")},
	)
	o.inDefault = reference(site(t, w, "default", "w"), "Site")
	site(t, w, o.here, "w")
	return o
}

// live is a reference to an owner that is there.
func (o owners) live(t *testing.T, apiVersion, kind, name string) metav1.OwnerReference {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.SetNamespace(o.here)
	object.SetName(name)
	o.w.Get(t, object)
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: object.GetUID()}
}

// report is one case of the public reports: an object, and what has to become of the
// request that creates it.
type report struct {
	name   string
	object client.Object
	refs   []metav1.OwnerReference
	denied []string // words of the denial; none: it is accepted
	warned []string // words of the warning; none: there is none
}

// TestReports has every report of which the outcome is that of one request; each is
// asked for by dry-run, as kubectl prints it. Others are in TestStrict (C13, C36 to C41,
// C48), TestLab (C61), TestStaleUID (C52) and among the tests of the policies (C21).
func TestReports(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	o := newOwners(t, w)
	meta := func(namespace string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: "case"} }
	pod, deployment, set := o.live(t, "v1", "Pod", "op"), o.live(t, "apps/v1", "Deployment", "op"), o.live(t, "apps/v1", "StatefulSet", "db")
	alpha := o.live(t, siteVersion, "Site", "w")
	controlling, blocking, older, foreign, misnamed, ungrouped := alpha, alpha, alpha, alpha, alpha, deployment
	controlling.Controller, controlling.BlockOwnerDeletion = new(true), new(true)
	blocking.BlockOwnerDeletion = new(true)
	older.APIVersion = "own.labhub.io/v1beta1"
	foreign.Name, foreign.UID = "elsewhere", staleUID
	misnamed.Kind = "Widget"
	misnamed.APIVersion = "acme.example/v1"
	ungrouped.APIVersion, ungrouped.Kind = "v1", "deployment"
	restored := set
	restored.UID = staleUID
	unserved := foreign
	unserved.APIVersion = "other.example/v1"
	twin := alpha
	twin.Name = "v"
	roleRef := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "none"}
	clusterRoleRef := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "none"}
	job := batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "none", Image: "none"}}}}}
	elsewhere := []string{"does not exist in namespace", "must be unless it is cluster-scoped", "would delete this"}
	scope := []string{"is cluster-scoped", "would never delete this", "delete it in a finalizer of the owner, or own it by a cluster-scoped object"}

	var told, strange strings.Builder
	asOutsider(t, w)
	for _, r := range []report{
		{"C01 a pod of another namespace", &corev1.Pod{ObjectMeta: meta(o.there), Spec: deploymentSpec().Template.Spec}, refs(pod), elsewhere, nil},
		{"C02 a binding in kube-system", &rbacv1.RoleBinding{ObjectMeta: meta("kube-system"), RoleRef: roleRef}, refs(controlling), elsewhere, nil},
		{"C03 a cluster role", &rbacv1.ClusterRole{ObjectMeta: meta("")}, refs(alpha), scope, nil},
		{"C03 a binding of one", &rbacv1.ClusterRoleBinding{ObjectMeta: meta(""), RoleRef: clusterRoleRef}, refs(alpha), scope, nil},
		{"C03 a webhook configuration is seen by no webhook", &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta("")}, refs(alpha), nil, nil},
		{"C04 a certificate in another namespace", &corev1.Secret{ObjectMeta: meta(o.there)}, refs(alpha), elsewhere, nil},
		{"C04 a topic in another namespace", custom("acme.example/v1", "Gadget", "default"), refs(o.live(t, "v1", "ConfigMap", "src")), elsewhere, nil},
		{"C05 a storage class", &storagev1.StorageClass{ObjectMeta: meta(""), Provisioner: "acme.example/none"}, refs(deployment), scope, nil},
		{"C05 a cluster role of a deployment", &rbacv1.ClusterRole{ObjectMeta: meta("")}, refs(deployment), scope, nil},
		{"C08 adopted from another namespace", &corev1.Secret{ObjectMeta: meta(o.there)}, refs(o.inDefault), elsewhere, nil},
		{"C09 the right uid, another kind", &batchv1.Job{ObjectMeta: meta(o.here), Spec: job}, refs(misnamed), []string{`Widget "w" does not exist`}, nil},
		{"C11 the group forgotten", &corev1.Secret{ObjectMeta: meta(o.here)}, refs(ungrouped), []string{"did you mean apps/v1 Deployment?"}, nil},
		{"C12 another served version", &corev1.Secret{ObjectMeta: meta(o.here)}, refs(older), nil, nil},
		{"C14 one uid twice", &corev1.ConfigMap{ObjectMeta: meta(o.here)}, refs(alpha, blocking), nil, []string{"duplicate uid"}},
		{"C14 one uid twice, one wrong", &corev1.ConfigMap{ObjectMeta: meta(o.here)}, refs(alpha, twin), []string{"the garbage collector would drop both"}, nil},
		{"C15 a type", crd(), refs(deployment), []string{"every object of its kind", "is cluster-scoped"}, nil},
		{"C18 a claim with the uid of an older set", claim(meta(o.here)), refs(restored), []string{"this looks like a restore", string(set.UID)}, nil},
		{"C19 from another cluster", &appsv1.Deployment{ObjectMeta: meta(o.here), Spec: deploymentSpec()}, refs(foreign), []string{`Site "elsewhere" does not exist`}, nil},
		{"C19 of a kind that is not served here", &appsv1.Deployment{ObjectMeta: meta(o.here), Spec: deploymentSpec()}, refs(unserved), nil, []string{"other.example/v1 has no kind Site"}},
		{"C20 copied with its references", &corev1.ConfigMap{ObjectMeta: meta(o.there)}, refs(o.live(t, "v1", "ConfigMap", "src")), elsewhere, nil},
	} {
		t.Run(r.name, func(t *testing.T) {
			told.WriteString("## " + r.name + "\n" + r.check(t, w))
			strange.WriteString("## " + r.name + "\n" + r.ask(t, w, identities()[outsider]...).Out)
		})
	}
	golden(t, "reports.txt", told.String())
	for _, secret := range []types.UID{set.UID, deployment.UID, pod.UID} {
		if strings.Contains(strange.String(), string(secret)) {
			t.Errorf("who may create, and read nothing, learns a uid:\n%s", strange.String())
		}
	}
	golden(t, "strangers.txt", strange.String())
}

const siteVersion = "own.labhub.io/v1"

func refs(list ...metav1.OwnerReference) []metav1.OwnerReference { return list }

// ask asks for the object by kubectl.
func (r report) ask(t *testing.T, w *world.World, flags ...string) world.Answer {
	t.Helper()
	r.object.SetOwnerReferences(r.refs)
	gvk, err := w.Client.GroupVersionKindFor(r.object)
	if err != nil {
		t.Fatal(err)
	}
	r.object.GetObjectKind().SetGroupVersionKind(gvk)
	manifest, err := json.Marshal(r.object)
	if err != nil {
		t.Fatal(err)
	}
	return w.KubectlWith(t, string(manifest), append([]string{"create", "--dry-run=server", "-f", "-"}, flags...)...)
}

// check asks for the object as administrator, and returns what that prints and what the API
// server tells a machine.
func (r report) check(t *testing.T, w *world.World) string {
	t.Helper()
	answer := r.ask(t, w)
	denied := strings.Contains(answer.Out, `admission webhook "ownerreferences.platform.labhub.io" denied the request: metadata.ownerReferences[`)
	if wanted := len(r.denied) > 0; denied != wanted || (answer.Code != 0) != wanted {
		t.Errorf("denied: %t, want %t: %s", denied, wanted, answer.Out)
	}
	if warned := strings.Contains(answer.Out, "Warning: metadata.ownerReferences["); warned != (len(r.warned) > 0) {
		t.Errorf("warned: %t: %s", warned, answer.Out)
	}
	for _, word := range append(r.denied, r.warned...) {
		if !strings.Contains(answer.Out, word) {
			t.Errorf("the answer lacks %q: %s", word, answer.Out)
		}
	}
	r.compareWithCheck(t, w, answer.Out)
	text := answer.Out
	if denied {
		for _, cause := range causes(t, w.Client.Create(t.Context(), r.object, client.DryRunAll)) {
			text += fmt.Sprintf("cause: %s %s\n", cause.Type, cause.Field)
		}
	}
	return text
}

// compareWithCheck fails the test unless the plugin says the same of the manifest, in the
// same words, before it is applied.
func (r report) compareWithCheck(t *testing.T, w *world.World, told string) {
	t.Helper()
	if _, unseen := r.object.(*admissionregistrationv1.ValidatingWebhookConfiguration); unseen {
		return // the plugin sees what no webhook is shown
	}
	manifest, err := json.Marshal(r.object)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "manifest.json")
	if err := os.WriteFile(file, manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	printed := w.Plugin(t, "check", "-f", file, "-o", "json")
	var checked struct {
		Findings []struct{ Message, Verdict string }
	}
	if err := json.Unmarshal([]byte(printed.Out), &checked); err != nil {
		t.Fatalf("%v: %+v", err, printed)
	}
	verdict := map[bool]string{true: "deny", false: "warn"}[len(r.denied) > 0]
	if wanted := len(r.denied)+len(r.warned) > 0; (len(checked.Findings) > 0) != wanted || (printed.Code == 1) != wanted {
		t.Errorf("exit code %d, findings %+v", printed.Code, checked.Findings)
	}
	for _, f := range checked.Findings {
		if f.Verdict != verdict || !strings.Contains(told, f.Message) {
			t.Errorf("check would %s: %s\nthe guard: %s", f.Verdict, f.Message, told)
		}
	}
}

func custom(apiVersion, kind, namespace string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName("case")
	return o
}

func crd() *unstructured.Unstructured {
	o := custom("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
	o.SetName("cases.own.labhub.io")
	o.Object["spec"] = map[string]any{
		"group": "own.labhub.io", "scope": "Cluster", "names": map[string]any{"kind": "Case", "plural": "cases"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
	}
	return o
}

func deploymentSpec() appsv1.DeploymentSpec {
	labels := map[string]string{"app": "none"}
	return appsv1.DeploymentSpec{
		Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "none", Image: "none"}}},
		},
	}
}

// TestReport_Updated is case C06: an owner that does not exist is edited in, which
// anybody could delete the object by.
func TestReport_Updated(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "case-06")
	c := configMap(ns, "c")
	w.Create(t, c)
	edit := func(user client.Client) error {
		return user.Patch(t.Context(), configMap(ns, "c"), mergePatch(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"ghost","uid":"none"}]}}`))
	}
	wantDeniedToBoth(t, w, edit, nil, `Pod "ghost" does not exist in namespace "case-06"`, "would delete this ConfigMap within seconds")
}

// TestReport_Empty is case C60: an empty field is the API server's to refuse, which
// comes before any webhook.
func TestReport_Empty(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "case-60")
	empty := metav1.OwnerReference{APIVersion: siteVersion, Kind: "Site", Name: "w"}
	got := status(t, w.Client.Create(t.Context(), configMap(ns, "c", empty)))
	if got.Code != 422 || strings.Contains(got.Message, "admission webhook") {
		t.Errorf("got %+v", got)
	}
}

// TestReport_RestoreWindow is the other half of case C18: in a namespace that is being
// restored the guard can be told to warn.
func TestReport_RestoreWindow(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "case-18")
	setMode(t, w, ns, "warn")
	alpha := site(t, w, ns, "alpha")
	stale := reference(alpha, "Site")
	stale.UID = staleUID
	asOutsider(t, w)
	for user, as := range identities() {
		answer := w.Kubectl(t, append(as, "-n", ns, "create", "--dry-run=server", "-f", writeManifest(t, configMap(ns, "c", stale)))...)
		told := strings.Contains(answer.Out, string(alpha.GetUID()))
		if answer.Code != 0 || !strings.Contains(answer.Out, "Warning: metadata.ownerReferences[0]") || told != (user == administrator) {
			t.Errorf("%s: got %+v", user, answer)
		}
	}
}

// TestReport_SharedAccount is case C23: a reference may be valid and still cost an
// object that others use. The guard allows it; the collector deletes it with its only
// owner, and keeps it if it has another.
func TestReport_SharedAccount(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "case-23")
	older, newer := site(t, w, ns, "v1"), site(t, w, ns, "v2")
	account := func(name string, list ...metav1.OwnerReference) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, OwnerReferences: list}}
	}
	sole, shared := account("sole", reference(older, "Site")), account("shared", reference(older, "Site"), reference(newer, "Site"))
	w.Create(t, sole, shared)
	w.Delete(t, older)
	w.AwaitGone(t, sole)
	world.Eventually(t, world.CollectorPatience, "the reference to v1 is pruned", func() error {
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(shared), shared); err != nil {
			return err
		}
		if len(shared.OwnerReferences) != 1 || shared.OwnerReferences[0].Name != "v2" {
			return fmt.Errorf("references %v", shared.OwnerReferences)
		}
		return nil
	})
}

// TestReport_BrokenConversion is case C49: an owner that the API server cannot convert
// is neither there nor absent.
func TestReport_BrokenConversion(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "case-49")
	d := crd()
	version := func(name string, storage bool) map[string]any {
		return map[string]any{"name": name, "served": true, "storage": storage, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}
	}
	d.SetName("brokens.own.labhub.io")
	d.Object["spec"] = map[string]any{
		"group": "own.labhub.io", "scope": "Namespaced", "names": map[string]any{"kind": "Broken", "plural": "brokens"},
		"versions": []any{version("v1", true), version("v1beta1", false)},
		"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{
			"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"service": map[string]any{"namespace": ns, "name": "missing"}},
		}},
	}
	w.Create(t, d)
	t.Cleanup(func() {
		if err := w.Client.Delete(context.WithoutCancel(t.Context()), d); err != nil {
			t.Error(err)
		}
	})
	broken := custom("own.labhub.io/v1", "Broken", ns)
	await(t, "the type is served", func() error { return w.Client.Create(t.Context(), broken.DeepCopy(), client.DryRunAll) })
	w.Create(t, broken)
	ref := metav1.OwnerReference{APIVersion: "own.labhub.io/v1beta1", Kind: "Broken", Name: broken.GetName(), UID: broken.GetUID()}
	answer := w.Kubectl(t, "-n", ns, "create", "--dry-run=server", "-f", writeManifest(t, configMap(ns, "c", ref)))
	if answer.Code != 0 || !strings.Contains(answer.Out, "could not be read") {
		t.Errorf("got %+v", answer)
	}
}
