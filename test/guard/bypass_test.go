package guard

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	for kind, want := range map[string]string{"site": "has uid", "SiteList": "is a list", "List": "is a list", "sites": "own.labhub.io/v1 has no kind sites", "*v1.Site": "no type can have"} {
		ref := reference(alpha, kind)
		if kind == "site" {
			ref.UID = staleUID
		}
		if kind == "sites" { // a group that may yet serve it: doubtful
			answer := w.Kubectl(t, "create", "--dry-run=server", "-f", writeManifest(t, configMap(ns, "c", ref)))
			if answer.Code != 0 || !strings.Contains(answer.Out, want) {
				t.Errorf("%s: %+v", kind, answer)
			}
			continue
		}
		var owners []client.Object
		if ref.UID != alpha.GetUID() {
			owners = append(owners, alpha)
		}
		wantDeniedToBoth(t, w, creates(t, configMap(ns, "c", ref)), owners, want)
	}
	generated := configMap(ns, "", ghost())
	generated.GenerateName = "c-"
	wantDeniedToBoth(t, w, creates(t, generated), nil, "ghost")
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
	wantDeniedToBoth(t, w, func(c client.Client) error {
		return c.Status().Patch(t.Context(), volume.DeepCopy(), mergePatch(string(change)))
	}, nil, "PersistentVolumeClaim", "the data of its volume")
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	wantDenied(t, w.Client.Status().Patch(t.Context(), space, mergePatch(string(change))), "cluster-scoped")
	w.Get(t, space)
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "bypass"},
		Spec:       certificatesv1.CertificateSigningRequestSpec{Request: signingRequest(t), SignerName: "acme.example/signer", Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}},
	}
	w.Create(t, csr)
	wantDenied(t, w.Client.SubResource("approval").Patch(t.Context(), csr, mergePatch(string(change))), "cluster-scoped")
	space.OwnerReferences = []metav1.OwnerReference{ghost()}
	wantDenied(t, w.Client.SubResource("finalize").Update(t.Context(), space), "cluster-scoped")
}

// signingRequest is one that the API server accepts.
func signingRequest(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(cryptorand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
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
}

// TestTeamSpace_Warnings: what is allowed and seldom meant.
func TestTeamSpace_Warnings(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ts := world.TeamSpace("lowered", 3, "1")
	ts.Finalizers = []string{"x.example/one", "x.example/two"}
	w.Serve(t, ts)
	for i := range 2 {
		w.Create(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-lowered", Name: fmt.Sprint("pod-", i)}, Spec: deploymentSpec().Template.Spec})
	}
	w.AwaitTeamSpace(t, "lowered", "two pods are in use", func(ts *v1alpha1.TeamSpace) bool {
		pods := ts.Status.Used[corev1.ResourcePods]
		return pods.Value() == 2
	})
	for change, want := range map[string]string{
		`{"spec":{"pods":1}}`: "below the 2 pods that run",
		`{"metadata":{"finalizers":["platform.labhub.io/cleanup"]}}`: "drops 2 finalizers of others at once",
	} {
		answer := w.Kubectl(t, "patch", "teamspace", "lowered", "--type=merge", "-p", change)
		if answer.Code != 0 || !strings.Contains(answer.Out, "Warning: ") || !strings.Contains(answer.Out, want) {
			t.Errorf("%s: %+v", change, answer)
		}
	}
}

// TestBypass_Paths: a name that would lead elsewhere as part of a URL is no name, and
// tells nobody of what is there.
func TestBypass_Paths(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns, far := namespace(t, w, "paths"), namespace(t, w, "paths-far")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: far, Name: "hidden"}}
	w.Create(t, secret)
	for _, name := range []string{
		"../../" + far + "/secrets/hidden", "../../../namespaces/" + far, "..", ".", "a/b", "%2e%2e", "../../" + far + "/pods/x:80/proxy/y",
	} {
		for _, uid := range []types.UID{staleUID, secret.UID} {
			err := w.Client.Create(t.Context(), configMap(ns, "c", metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: uid}))
			wantDenied(t, err, "no object can have this name")
			if uid == staleUID && strings.Contains(err.Error(), string(secret.UID)) {
				t.Errorf("%s tells a uid: %v", name, err)
			}
		}
	}
}

// TestBypass_Flags: a reference that has gone wrong since may lose and change its flags,
// but not begin to block.
func TestBypass_Flags(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "flags")
	setMode(t, w, ns, "off")
	stale := metav1.OwnerReference{APIVersion: "own.labhub.io/v9", Kind: "Site", Name: "x", UID: staleUID}
	c := configMap(ns, "c", stale)
	w.Create(t, c)
	setMode(t, w, ns, "enforce")
	stale.Controller = new(true)
	change := func() client.Patch {
		text, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": []metav1.OwnerReference{stale}}})
		if err != nil {
			t.Fatal(err)
		}
		return mergePatch(string(text))
	}
	if err := w.Client.Patch(t.Context(), c, change()); err != nil {
		t.Errorf("controller: %v", err)
	}
	stale.BlockOwnerDeletion = new(true)
	wantDenied(t, w.Client.Patch(t.Context(), c, change()), "own.labhub.io/v9 has no kind Site")
}
