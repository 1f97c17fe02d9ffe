package guard

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/test/oracle/live"
	"labhub.io/teamspace/test/world"
)

var lab = &world.Shared{Prepare: prepare}

func TestMain(m *testing.M) { lab.Run(m) }

// siteType is the type of the ownership lab, and one version more.
var siteType = live.Definition{
	Group: "own.labhub.io", Kind: "Site", Namespaced: true, Versions: []live.Version{{Name: "v1"}, {Name: "v1beta1"}},
}

// prepare installs the types that own and are owned, and what the outsider may do.
func prepare(ctx context.Context, w *world.World) error {
	cluster, err := live.New(w.Admin)
	if err != nil {
		return err
	}
	for _, d := range append(live.Definitions(), siteType) {
		if err := cluster.Define(ctx, d); err != nil {
			return err
		}
	}
	for _, permission := range permissions(outsider, "", outsiderRules()...) {
		if err := w.Client.Create(ctx, permission); err != nil {
			return err
		}
	}
	return nil
}

// owner is a Site without anything but its name.
func owner(namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("own.labhub.io/v1")
	o.SetKind("Site")
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// reference is what a dependent of it has to say.
func reference(o client.Object, kind string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "own.labhub.io/v1", Kind: kind, Name: o.GetName(), UID: o.GetUID()}
}

func ghost() metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "own.labhub.io/v1", Kind: "Site", Name: "ghost", UID: staleUID}
}

// staleUID is the uid of nothing.
const staleUID = "00000000-0000-0000-0000-000000000000"

func configMap(namespace, name string, refs ...metav1.OwnerReference) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: refs}}
}

// namespace creates a namespace of this name, for one test.
func namespace(t *testing.T, w *world.World, name string, labels ...string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		ns.Labels[key] = value
	}
	w.Create(t, ns)
	return name
}

// site creates a Site.
func site(t *testing.T, w *world.World, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	o := owner(namespace, name)
	w.Create(t, o)
	return o
}

// wantDenied fails the test unless the guard has denied a request, with these words.
func wantDenied(t *testing.T, err error, words ...string) {
	t.Helper()
	wantRefused(t, err, append([]string{`admission webhook "ownerreferences.platform.labhub.io" denied the request: `}, words...)...)
}

// wantRefused fails the test unless a request was refused as Forbidden, with these words
// in a message of one line.
func wantRefused(t *testing.T, err error, words ...string) {
	t.Helper()
	if !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want Forbidden", err)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the message lacks %q: %s", word, err)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the message has several lines: %q", err)
	}
}

// status is the answer of the API server in an error.
func status(t *testing.T, err error) metav1.Status {
	t.Helper()
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		t.Fatalf("no answer of the API server: %v", err)
	}
	return answer.Status()
}

// causes are what is wrong, for machines. Each stands in the message too.
func causes(t *testing.T, err error) []metav1.StatusCause {
	t.Helper()
	got := status(t, err)
	if got.Code != 403 || got.Reason != metav1.StatusReasonForbidden || got.Details == nil || len(got.Details.Causes) == 0 {
		t.Fatalf("got %+v, want a denial with causes", got)
	}
	for _, cause := range got.Details.Causes {
		if !strings.Contains(got.Message, cause.Message) {
			t.Errorf("the message lacks the cause %q: %s", cause.Message, got.Message)
		}
	}
	return got.Details.Causes
}

func mergePatch(text string) client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(text))
}

// uids are what differs from run to run.
var uids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// golden compares a text with a file, uids apart. The nil uid stays as it is.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = uids.ReplaceAllStringFunc(got, func(uid string) string {
		if uid == staleUID {
			return uid
		}
		return "LIVE-UID"
	})
	path := filepath.Join("testdata", name)
	if ownershiptest.Update() {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
