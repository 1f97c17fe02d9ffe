package ownerreferences

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type accessArgs struct {
	Resource        schema.GroupVersionResource
	Namespace, Name string
}

// asking answers questions for permissions one by one.
func asking(may func(accessArgs) bool) accessFunc {
	return func(resource schema.GroupVersionResource, namespace, name string) (bool, error) {
		return may(accessArgs{resource, namespace, name}), nil
	}
}

// TestReveal_AsksForTheOwner: the permission that counts is that for the very object
// that a message would speak of, and it is asked for once.
func TestReveal_AsksForTheOwner(t *testing.T) {
	var asked []accessArgs
	handler := New(Options{Mode: Enforce, Namespaces: namespaces(t, nil), Owners: newCluster(), Access: asking(func(args accessArgs) bool {
		asked = append(asked, args)
		return true
	})})
	handler.Handle(t.Context(), review("ConfigMap", "a", widget("w", "uid-0"), widget("w", "uid-1"), ref("acme.example/v1", "ClusterWidget", "cw", "uid-cw")))
	want := []accessArgs{
		{schema.GroupVersionResource{Group: "acme.example", Version: "v1", Resource: "widgets"}, "a", "w"},
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// TestReveal_AlikeToWhoMayNotLook: an owner that is not there and one with another uid
// give the same answer, and so do one that lives and one that is being deleted (H6).
func TestReveal_AlikeToWhoMayNotLook(t *testing.T) {
	bad := func(name string) string {
		handler := New(Options{Mode: Enforce, Namespaces: namespaces(t, nil), Owners: newCluster(), Access: accessFunc(nothing)})
		return strings.ReplaceAll(describe(handler.Handle(t.Context(), review("ConfigMap", "a", widget(name, "uid-0")))), name, "NAME")
	}
	if diff := cmp.Diff(bad("ghost"), bad("between")); diff != "" {
		t.Errorf("an owner that is there can be told from one that is not:\n%s", diff)
	}
	for _, before := range [][]metav1.OwnerReference{nil, {widget("going", "uid-going")}} {
		handler := New(Options{Mode: Enforce, Namespaces: namespaces(t, nil), Owners: newCluster(), Access: accessFunc(nothing)})
		refs := []metav1.OwnerReference{widget("going", "uid-going"), widget("ghost", "uid-0")}
		got := describe(handler.Handle(t.Context(), update(review("ConfigMap", "a", refs...), before...)))
		if strings.Contains(got, "foreground") {
			t.Errorf("a deletion is told to who may not look: %s", got)
		}
	}
}

// TestReveal_Unanswered: without an answer nobody may look.
func TestReveal_Unanswered(t *testing.T) {
	handler := New(Options{Mode: Enforce, Namespaces: namespaces(t, nil), Owners: newCluster(), Access: accessFunc(
		func(schema.GroupVersionResource, string, string) (bool, error) { return true, errors.New("boom") })})
	got := handler.Handle(t.Context(), review("ConfigMap", "a", widget("w", "uid-0")))
	if got.Allowed || strings.Contains(got.Result.Message, "uid-w") {
		t.Error(describe(got))
	}
}

// TestReveal_Cycle: who may not read an owner on the way does not learn that the way
// leads back.
func TestReveal_Cycle(t *testing.T) {
	for hidden, warns := range map[string]bool{"": true, "owned": false, "between": false} {
		handler := New(Options{Mode: Enforce, Namespaces: namespaces(t, nil), Owners: newCluster(), Access: asking(func(args accessArgs) bool {
			return args.Name != hidden
		})})
		request := update(review("Widget", "a", widget("owned", "uid-owned")))
		request.Object.Raw = []byte(strings.Replace(string(request.Object.Raw), `"metadata":{`, `"metadata":{"uid":"uid-self",`, 1))
		if got := handler.Handle(t.Context(), request); len(got.Warnings) > 0 != warns {
			t.Errorf("%q hidden: %s", hidden, describe(got))
		}
	}
}
