package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/test/world"
)

var lab = &world.Shared{Prepare: prepare}

func TestMain(m *testing.M) { lab.Run(m) }

// prepare installs the types that own and are owned.
func prepare(w *world.World) error {
	ctx := context.Background()
	for kind, scope := range map[string]apiextensionsv1.ResourceScope{
		"Site": apiextensionsv1.NamespaceScoped, "Region": apiextensionsv1.ClusterScoped,
	} {
		if err := w.Client.Create(ctx, definition(kind, scope)); err != nil {
			return fmt.Errorf("creating the type %s: %w", kind, err)
		}
		// A type is served a moment after it says so.
		probe := owner(kind, "default", "probe")
		err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, world.Patience, true, func(ctx context.Context) (bool, error) {
			return w.Client.Create(ctx, probe, client.DryRunAll) == nil, nil
		})
		if err != nil {
			return fmt.Errorf("waiting for the type %s: %w", kind, err)
		}
	}
	return nil
}

func definition(kind string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	singular := strings.ToLower(kind)
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: singular + "s.own.labhub.io"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "own.labhub.io", Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, Plural: singular + "s", Singular: singular},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
}

// owner is a Site in a namespace, or a Region.
func owner(kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("own.labhub.io/v1")
	o.SetKind(kind)
	o.SetName(name)
	if kind == "Site" {
		o.SetNamespace(namespace)
	}
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
	o := owner("Site", namespace, name)
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
