package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/proxy"
	"labhub.io/teamspace/test/world"
)

// TestFix_ChangedMeanwhile: an object that was changed after it was looked at is left as it
// is, and so is the one that has taken its name; what is said tells what to do. All others
// are fixed.
func TestFix_ChangedMeanwhile(t *testing.T) {
	w := lab.World(t)
	for name, tc := range map[string]struct {
		change func(context.Context, *unstructured.Unstructured) error
		words  string
		gone   bool
	}{
		"changed": {words: "was changed since the audit looked at it: run the audit again", change: func(ctx context.Context, o *unstructured.Unstructured) error {
			return w.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"changed":"meanwhile"}}}`)))
		}},
		"again": {words: "was made again since the audit looked at it: run the audit again", change: func(ctx context.Context, o *unstructured.Unstructured) error {
			again := o.DeepCopy()
			again.SetResourceVersion("")
			return errors.Join(w.Client.Delete(ctx, o), w.Client.Create(ctx, again))
		}},
		"gone": {words: "has gone since the audit looked at it", gone: true, change: func(ctx context.Context, o *unstructured.Unstructured) error {
			return w.Client.Delete(ctx, o)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCast(t, w, "meanwhile-"+name)
			touched := create(t, w, "v1", "Secret", c.ns, "touched", ref(c.here, uid(nobody)))
			other := create(t, w, "v1", "Secret", c.ns, "untouched", ref(c.here, uid(nobody)))
			p := proxy.Start(t, w.Admin)
			var once sync.Once
			p.Handle(func(rw http.ResponseWriter, r *proxy.Request, pass http.HandlerFunc) {
				if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/touched") {
					once.Do(func() {
						if err := tc.change(t.Context(), touched.DeepCopy()); err != nil {
							t.Error(err)
						}
					})
				}
				pass(rw, r.Request)
			})
			got := w.Plugin(t, append(through(t, w, p, c.ns), "audit", "-n", c.ns, "--fix", "--yes")...)
			if want := "not fixed: Secret " + c.ns + "/touched " + tc.words; got.Code != 1 || !strings.Contains(got.Err, want) {
				t.Errorf("exit code %d, it does not say %q: %s%s", got.Code, want, got.Out, got.Err)
			}
			if is := owners(t, w, other); len(is) != 1 || is[0].UID != c.here.GetUID() {
				t.Errorf("what nobody has changed is owned by %+v", is)
			}
			if tc.gone {
				return
			}
			if is := owners(t, w, touched); len(is) != 1 || is[0].UID != nobody {
				t.Errorf("what was changed is owned by %+v", is)
			}
		})
	}
}

// TestCheck_RightUID: of a reference with the right uid and the wrong name check says, as
// the audit does, whose uid it is; of one with nobody's uid it says what the guard does.
func TestCheck_RightUID(t *testing.T) {
	w := lab.World(t)
	c := newCast(t, w, "right-uid")
	for name, tc := range map[string]struct {
		reference metav1.OwnerReference
		rule, fix string
	}{
		"another name": {ref(c.here, named("v")), "R15", `the uid is that of acme.example/v1 Widget "w": write that, or drop the reference`},
		"cluster":      {ref(c.global, named("v")), "R15", `the uid is that of acme.example/v1 ClusterWidget "right-uid": write that, or drop the reference`},
		"nobody":       {ref(c.here, named("v"), uid(nobody)), "R11", "create the owner first and use its uid, or drop the reference"},
	} {
		t.Run(name, func(t *testing.T) {
			manifest, err := json.Marshal(&corev1.ConfigMap{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
				ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "c", OwnerReferences: []metav1.OwnerReference{tc.reference}},
			})
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "manifest.json")
			if err := os.WriteFile(file, manifest, 0o600); err != nil {
				t.Fatal(err)
			}
			got := parse(t, w.MustPlugin(t, 1, "check", "-f", file, "-o", "json"))
			wantFinding(t, got, "ConfigMap", "c", tc.rule, tc.fix)
			if f := got.Findings[0]; f.Fix != tc.fix || tc.rule == "R15" && strings.Contains(f.Message, "create the owner") {
				t.Errorf("it says %s; fix: %s", f.Message, f.Fix)
			}
		})
	}
}

// earlier is a namespace that still refers to a TeamSpace from before it was made again,
// while no controller runs: it would drop the reference at once.
func earlier(t *testing.T, w *world.World, name string) (*v1alpha1.TeamSpace, *corev1.Namespace) {
	t.Helper()
	w.Stop(t, world.Manager)
	ts := &v1alpha1.TeamSpace{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.TeamSpaceSpec{Pods: 1}}
	createObject(t, w, ts)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-" + name, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: v1alpha1.GroupVersion.String(), Kind: "TeamSpace", Name: ts.Name, UID: nobody},
	}}}
	if err := asController(t, w).Create(t.Context(), ns); err != nil { // the policies let nobody else
		t.Fatal(err)
	}
	wantFinding(t, audit(t, w, 1), "Namespace", ns.Name, "R11", "and with it everything in it",
		"kubectl annotate namespace team-"+name+" platform.labhub.io/adopt="+name)
	return ts, ns
}

func asController(t *testing.T, w *world.World) client.Client {
	t.Helper()
	return w.As(t, world.ManagerUser, "system:serviceaccounts", "system:serviceaccounts:"+world.ReleaseNamespace, "system:authenticated")
}

// TestFix_EarlierTeamSpace: the policies keep such a reference for the controller, and the
// refusal says so. Once that runs, the reference is dropped, and what the audit said lets
// the new TeamSpace have the namespace.
func TestFix_EarlierTeamSpace(t *testing.T) {
	w := lab.World(t)
	ts, ns := earlier(t, w, "again")
	got := w.Plugin(t, "audit", "--fix", "--yes")
	for _, words := range []string{
		"not fixed: Namespace team-again keeps its reference, which only TeamSpace's controller may drop", "it does so as soon as it runs",
	} {
		if got.Code != 1 || !strings.Contains(got.Err, words) {
			t.Errorf("exit code %d, it does not say %q: %s", got.Code, words, got.Err)
		}
	}
	w.Start(t, world.Manager)
	ownedBy := func(want ...types.UID) {
		t.Helper()
		world.Eventually(t, world.Patience, fmt.Sprintf("the namespace is owned by %q", want), func() error {
			w.Get(t, ns)
			if len(ns.OwnerReferences) != len(want) || len(want) > 0 && ns.OwnerReferences[0].UID != want[0] {
				return fmt.Errorf("it is owned by %+v", ns.OwnerReferences)
			}
			return nil
		})
	}
	ownedBy()
	w.MustKubectl(t, "annotate", "namespace", ns.Name, "platform.labhub.io/adopt=again")
	ownedBy(ts.UID)
	audit(t, w, 0)
	// No collector takes the namespace along.
	w.Delete(t, ts)
	w.AwaitGone(t, ts)
	if err := asController(t, w).Patch(t.Context(), ns, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`))); err != nil {
		t.Fatal(err)
	}
}

// TestFix_WithoutPolicies: where the chart's policies are not installed the reference is
// dropped like any other, and the namespace is bound to nothing.
func TestFix_WithoutPolicies(t *testing.T) {
	w := lab.World(t)
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "namespaces.platform.labhub.io"}}
	w.Get(t, binding)
	if err := w.Client.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		binding.ResourceVersion, binding.UID = "", ""
		if err := w.Client.Create(context.WithoutCancel(t.Context()), binding); err != nil {
			t.Error(err)
		}
	})
	_, ns := earlier(t, w, "policyless")
	world.Eventually(t, world.Patience, "the policy is not in force any more", func() error {
		if got := w.Plugin(t, "audit", "--fix", "--yes"); strings.Contains(got.Err, "not fixed") {
			return errors.New(got.Err)
		}
		return nil
	})
	w.Get(t, ns)
	if len(ns.OwnerReferences) > 0 {
		t.Errorf("it is bound to %v", ns.OwnerReferences)
	}
}

// through are the flags with which the plugin goes through a proxy, which has no
// credentials: as an account that may do everything.
func through(t *testing.T, w *world.World, p *proxy.Proxy, ns string) []string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "through"}}
	createObject(t, w, account)
	createObject(t, w, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: account.Name}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	})
	token := &authenticationv1.TokenRequest{}
	if err := w.Client.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, p.CA, 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--server=" + p.URL, "--certificate-authority=" + ca, "--token=" + token.Status.Token}
}
