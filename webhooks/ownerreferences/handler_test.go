package ownerreferences

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/ownershiptest"
)

// answers are the requests whose answers stand in testdata/answers.txt.
var answers = []struct {
	name   string
	mode   Mode
	broken string
	access accessFunc
	review admission.Request
}{
	{name: "no such owner", review: review("ConfigMap", "a", widget("ghost", "uid-0"))},
	{name: "no such owner, to somebody who may not look", access: nothing, review: review("ConfigMap", "a", widget("ghost", "uid-0"))},
	{name: "another uid", review: review("ConfigMap", "a", widget("w", "uid-0"))},
	{name: "another uid, to somebody who may not look", access: nothing, review: review("ConfigMap", "a", widget("w", "uid-0"))},
	{name: "another namespace", review: review("ConfigMap", "b", widget("w", "uid-w"))},
	{name: "a claim of a volume that is restored", review: review("PersistentVolumeClaim", "a", ref("apps/v1", "StatefulSet", "db", "uid-0"))},
	{name: "a cluster-scoped object of a namespaced owner", review: review("ClusterRole", "", widget("w", "uid-w"))},
	{name: "the same, blocking", review: review("Namespace", "", blocking(widget("w", "uid-w")))},
	{name: "a kind that nobody can have", review: review("ConfigMap", "a", ref("acme.example/v1", "*v1.Widget", "w", "uid-w"))},
	{name: "the list of a kind", review: review("ConfigMap", "a", ref("acme.example/v1", "WidgetList", "w", "uid-w"))},
	{name: "the group forgotten", review: review("ConfigMap", "a", ref("v1", "Deployment", "d", "uid-d"))},
	{name: "a version that is not served", review: review("ConfigMap", "a", ref("acme.example/v2", "Widget", "w", "uid-w"))},
	{name: "a group that is not served", review: review("ConfigMap", "a", ref("other.example/v1", "Thing", "x", "uid-x"))},
	{name: "a version that vanished lately", review: review("ConfigMap", "a", ref("acme.example/v1", "Lately", "x", "uid-x"))},
	{name: "an owner that cannot be read", broken: "Widget", review: review("ConfigMap", "a", widget("w", "uid-w"))},
	{name: "an owner in foreground deletion", review: review("ConfigMap", "a", widget("going", "uid-going"))},
	{name: "the same, to somebody who may not look", access: nothing, review: review("ConfigMap", "a", widget("going", "uid-going"))},
	{name: "itself", review: update(review("Widget", "a", widget("self", "uid-self")))},
	{name: "a cycle", review: update(review("Widget", "a", widget("owned", "uid-owned")))},
	{name: "one uid twice, both right", review: review("ConfigMap", "a", widget("w", "uid-w"), blocking(widget("w", "uid-w")))},
	{name: "one uid twice, one wrong", review: review("ConfigMap", "a", widget("w", "uid-w"), widget("x", "uid-w"))},
	{name: "two wrong ones", review: review("ConfigMap", "a", widget("x", "uid-x"), widget("w", "uid-0"))},
	{name: "a wrong one beside a right one", review: review("ConfigMap", "a", widget("w", "uid-w"), widget("x", "uid-x"))},
	{name: "a wrong one and a doubtful one", review: review("ConfigMap", "a", widget("x", "uid-x"), ref("other.example/v1", "Thing", "x", "uid-y"))},
	{name: "edited in place", review: update(review("ConfigMap", "a", widget("x", "uid-w")), widget("w", "uid-w"))},
	{name: "in mode warn", mode: Warn, review: review("ConfigMap", "a", widget("ghost", "uid-0"))},
	{name: "in mode audit", mode: Audit, review: review("ConfigMap", "a", widget("ghost", "uid-0"))},
	{name: "in mode off", mode: Off, review: review("ConfigMap", "a", widget("ghost", "uid-0"))},
}

func TestHandler_Answers(t *testing.T) {
	var text strings.Builder
	for _, tc := range answers {
		c := newCluster()
		c.broken = tc.broken
		if tc.access == nil {
			tc.access = everything
		}
		if tc.mode == "" {
			tc.mode = Enforce
		}
		handler := New(Options{Mode: tc.mode, Namespaces: namespaces(t, nil), Owners: c, Access: tc.access})
		fmt.Fprintf(&text, "## %s\n%s\n", tc.name, describe(handler.Handle(t.Context(), tc.review)))
	}
	golden(t, "answers.txt", text.String())
}

// describe writes an answer down, all of it.
func describe(r admission.Response) string {
	lines := []string{"allowed"}
	if !r.Allowed {
		lines = []string{fmt.Sprintf("denied: %d %s", r.Result.Code, r.Result.Reason), r.Result.Message}
		for _, cause := range r.Result.Details.Causes {
			lines = append(lines, fmt.Sprintf("cause: %s %s", cause.Type, cause.Field))
		}
	}
	for _, warning := range r.Warnings {
		lines = append(lines, "warning: "+warning)
	}
	for _, key := range slices.Sorted(maps.Keys(r.AuditAnnotations)) {
		lines = append(lines, "audit: "+key+"="+r.AuditAnnotations[key])
	}
	return strings.Join(lines, "\n") + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
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

// TestHandler_Passes: what is right, and what is none of the guard's business.
func TestHandler_Passes(t *testing.T) {
	dying := update(review("ConfigMap", "a", widget("ghost", "uid-0")))
	dying.OldObject.Raw = []byte(`{"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}`)
	scale := review("Scale", "a")
	scale.Object.Raw = []byte(`{"kind": "Scale", "spec": {"replicas": 3}}`)
	null := review("ConfigMap", "a")
	null.Object.Raw, null.OldObject.Raw = []byte("null"), []byte("null")
	gone := review("ConfigMap", "a")
	gone.Operation, gone.Object.Raw, gone.OldObject = admissionv1.Delete, nil, object("a", widget("ghost", "uid-0"))
	bad := widget("ghost", "uid-0")
	for name, tc := range map[string]struct {
		review admission.Request
		reads  int32
	}{
		"a live owner":                           {review("ConfigMap", "a", widget("w", "uid-w")), 1},
		"in lower case":                          {review("ConfigMap", "a", ref("acme.example/v1", "widget", "w", "uid-w")), 1},
		"a cluster-scoped owner":                 {review("ConfigMap", "a", ref("acme.example/v1", "ClusterWidget", "cw", "uid-cw")), 1},
		"a cluster-scoped owner of a Namespace":  {review("Namespace", "a", ref("acme.example/v1", "ClusterWidget", "cw", "uid-cw")), 1},
		"two owners":                             {review("ConfigMap", "a", widget("w", "uid-w"), ref("apps/v1", "Deployment", "d", "uid-d")), 2},
		"nothing changed, and it is wrong":       {update(review("ConfigMap", "a", bad), bad), 0},
		"a wrong one dropped beside another":     {update(review("ConfigMap", "a", bad), bad, widget("x", "uid-x")), 0},
		"a wrong one ceases to block":            {update(review("ConfigMap", "a", bad), blocking(bad)), 0},
		"a wrong one becomes the controller":     {update(review("ConfigMap", "a", controlling(bad)), bad), 0},
		"a right one added beside a wrong one":   {update(review("ConfigMap", "a", bad, widget("w", "uid-w")), bad), 2},
		"an object that is being deleted":        {dying, 0},
		"an object without metadata":             {scale, 0},
		"no object at all":                       {null, 0},
		"a deletion":                             {gone, 0},
		"an object without references":           {review("ConfigMap", "a"), 0},
		"a subresource with nothing to its name": {func() admission.Request { r := review("Pod", "a"); r.SubResource = "eviction"; return r }(), 0},
		"the status of an object, nothing to say": {func() admission.Request {
			r := update(review("Pod", "a", bad), bad)
			r.SubResource = "status"
			return r
		}(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			asked := func(_ accessArgs) bool { t.Error("somebody's permissions were asked for"); return false }
			handler := New(Options{Mode: Enforce, Namespaces: namespaces(t, nil), Owners: c, Access: asking(asked)})
			got := handler.Handle(t.Context(), tc.review)
			if !got.Allowed || len(got.Warnings) > 0 || len(got.AuditAnnotations) > 0 {
				t.Errorf("got %s", describe(got))
			}
			if reads := c.reads.Load(); reads != tc.reads {
				t.Errorf("%d reads, want %d", reads, tc.reads)
			}
		})
	}
}

// TestHandler_SharesReads: an owner that is named several times is read once.
func TestHandler_SharesReads(t *testing.T) {
	c := newCluster()
	handler := New(Options{Mode: Enforce, Namespaces: namespaces(t, nil), Owners: c, Access: accessFunc(everything)})
	refs := slices.Repeat([]metav1.OwnerReference{widget("w", "uid-w")}, 50)
	if got := handler.Handle(t.Context(), review("ConfigMap", "a", refs...)); !got.Allowed {
		t.Error(describe(got))
	}
	if reads := c.reads.Load(); reads != 1 {
		t.Errorf("%d reads, want 1", reads)
	}
}

// TestHandler_Many: an object may keep as many owners as it has, and a request may not
// name so many new ones that some of them could not be looked at.
func TestHandler_Many(t *testing.T) {
	many := func(n int) (refs []metav1.OwnerReference) {
		for i := range n {
			refs = append(refs, widget(fmt.Sprint("ghost-", i), "uid-0"))
		}
		return refs
	}
	for name, tc := range map[string]struct {
		review admission.Request
		denied string // words of the denial; none: it passes
		reads  int32
	}{
		"too many new ones":            {review("ConfigMap", "a", many(inventory.MaxOwners+1)...), "these are more than 200 owners", 0},
		"as many as can be looked at":  {review("ConfigMap", "a", many(inventory.MaxOwners)...), "; and 195 more", inventory.MaxOwners},
		"a new one beside many":        {update(review("ConfigMap", "a", append(many(1000), widget("w", "uid-w"))...), many(1000)...), "", inventory.OldOwners + 1},
		"a wrong one beside many":      {update(review("ConfigMap", "a", append(many(1000), widget("w", "uid-0"))...), many(1000)...), `has uid "uid-w"`, inventory.OldOwners + 1},
		"many that are there already":  {update(review("ConfigMap", "a", many(1000)...), many(1000)...), "", 0},
		"one taken away from the many": {update(review("ConfigMap", "a", many(999)...), many(1000)...), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			handler := New(Options{Mode: Enforce, Namespaces: namespaces(t, nil), Owners: c, Access: accessFunc(everything)})
			got := handler.Handle(t.Context(), tc.review)
			if got.Allowed != (tc.denied == "") || !got.Allowed && !strings.Contains(got.Result.Message, tc.denied) {
				t.Errorf("got %s", describe(got))
			}
			if !got.Allowed && len(got.Result.Details.Causes) > explain.Told {
				t.Errorf("%d causes", len(got.Result.Details.Causes))
			}
			if reads := c.reads.Load(); reads != tc.reads {
				t.Errorf("%d reads, want %d", reads, tc.reads)
			}
		})
	}
}

// TestHandler_Status: the status of a built-in type can change its references (H2).
func TestHandler_Status(t *testing.T) {
	handler := New(Options{Mode: Enforce, Namespaces: namespaces(t, nil), Owners: newCluster(), Access: accessFunc(everything)})
	r := update(review("Service", "a", widget("ghost", "uid-0")))
	r.SubResource = "status"
	if got := handler.Handle(t.Context(), r); got.Allowed {
		t.Error("allowed")
	}
}

func TestHandler_BadObjects(t *testing.T) {
	handler := New(Options{Mode: Enforce, Namespaces: namespaces(t, nil), Owners: newCluster(), Access: accessFunc(everything)})
	for _, raw := range []string{"{", "[]", `"text"`, `{"metadata": 7}`, `{"metadata": {"ownerReferences": {}}}`} {
		for _, old := range []bool{false, true} {
			r := review("ConfigMap", "a", widget("w", "uid-w"))
			if old {
				r.OldObject.Raw = []byte(raw)
			} else {
				r.Object.Raw = []byte(raw)
			}
			if got := handler.Handle(t.Context(), r); got.Allowed || got.Result.Code != 400 {
				t.Errorf("%s: %+v, want 400", raw, got)
			}
		}
	}
}

// TestWording is case C59: people meet the refusal of a client's own helper in a log and
// take it for ours, or ours for that.
func TestWording(t *testing.T) {
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "w", UID: "uid-w"}}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "c"}}
	err := controllerutil.SetControllerReference(owner, owned, clientgoscheme.Scheme)
	if err == nil || strings.Contains(err.Error(), "metadata.ownerReferences[") {
		t.Errorf("the helper says %v: our sentences can be told from it no more", err)
	}
	problem := explain.Problem{Field: "name", Value: "w", Wrong: "a", Consequence: "b", Fix: "c"}
	if !strings.HasPrefix(problem.Message(), "metadata.ownerReferences[0].name: ") {
		t.Errorf("ours says %s", problem.Message())
	}
}
