package teamspace

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"labhub.io/teamspace/api/v1alpha1"
)

// teamSpace returns one with finalizers.
func teamSpace(finalizers ...string) *v1alpha1.TeamSpace {
	return &v1alpha1.TeamSpace{ObjectMeta: metav1.ObjectMeta{Name: "a", Finalizers: finalizers}}
}

// terminating says that it is being deleted.
func terminating(ts *v1alpha1.TeamSpace) *v1alpha1.TeamSpace {
	ts.DeletionTimestamp = new(metav1.Now())
	return ts
}

// archived says that its record is stored.
func archived(ts *v1alpha1.TeamSpace) *v1alpha1.TeamSpace {
	ts.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionArchived, Status: metav1.ConditionTrue}}
	return ts
}

func review(t *testing.T, now, before *v1alpha1.TeamSpace) admission.Request {
	t.Helper()
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create, Object: encode(t, now)}}
	if before != nil {
		request.Operation, request.OldObject = admissionv1.Update, encode(t, before)
	}
	return request
}

func encode(t *testing.T, ts *v1alpha1.TeamSpace) runtime.RawExtension {
	t.Helper()
	raw, err := json.Marshal(ts)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: raw}
}

func TestDefaulter(t *testing.T) {
	added := []jsonpatch.JsonPatchOperation{{Operation: "add", Path: "/metadata/finalizers", Value: []string{v1alpha1.Finalizer}}}
	appended := []jsonpatch.JsonPatchOperation{{Operation: "add", Path: "/metadata/finalizers/-", Value: v1alpha1.Finalizer}}
	for name, tc := range map[string]struct {
		now, before *v1alpha1.TeamSpace
		want        []jsonpatch.JsonPatchOperation
		warns       bool
	}{
		"a new one gets it":                          {now: teamSpace(), want: added},
		"behind those of others":                     {now: teamSpace("x/y"), want: appended},
		"one that has it stays as it is":             {now: teamSpace("x/y", v1alpha1.Finalizer, "z/z")},
		"dropped, it comes back":                     {now: teamSpace(), before: teamSpace(v1alpha1.Finalizer), want: added, warns: true},
		"dropped beside others, it comes back last":  {now: teamSpace("x/y"), before: teamSpace(v1alpha1.Finalizer, "x/y"), want: appended, warns: true},
		"an update of one from before the webhook":   {now: teamSpace("x/y"), before: teamSpace("x/y"), want: appended},
		"one that is being deleted is left alone":    {now: terminating(teamSpace("x/y")), before: terminating(teamSpace("x/y", v1alpha1.Finalizer))},
		"one that is being deleted and never had it": {now: terminating(teamSpace("x/y")), before: terminating(teamSpace("x/y"))},
	} {
		t.Run(name, func(t *testing.T) {
			got := NewDefaulter().Handle(t.Context(), review(t, tc.now, tc.before))
			if !got.Allowed {
				t.Fatalf("denied: %+v", got.Result)
			}
			if diff := cmp.Diff(tc.want, got.Patches); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
			if warns := len(got.Warnings) > 0; warns != tc.warns {
				t.Errorf("warnings %q", got.Warnings)
			}
		})
	}
}

// TestDefaulter_SpecOfTheWrongType: it is the API server that refuses it, and names the
// field.
func TestDefaulter_SpecOfTheWrongType(t *testing.T) {
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Object: runtime.RawExtension{Raw: []byte(`{"metadata": {"name": "a"}, "spec": {"pods": "five", "cpu": 7}}`)},
	}}
	if got := NewDefaulter().Handle(t.Context(), request); !got.Allowed || len(got.Patches) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestHandlers_Malformed(t *testing.T) {
	for name, handler := range map[string]admission.Handler{"defaulter": NewDefaulter(), "validator": NewValidator()} {
		for _, raw := range []string{"{", "[]", `{"metadata": 7}`} {
			bad := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Object: runtime.RawExtension{Raw: []byte(raw)}}}
			if got := handler.Handle(t.Context(), bad); got.Allowed || got.Result.Code != 400 {
				t.Errorf("%s, %s: %+v", name, raw, got)
			}
			bad = review(t, teamSpace(), nil)
			bad.OldObject.Raw = []byte(raw)
			if got := handler.Handle(t.Context(), bad); got.Allowed || got.Result.Code != 400 {
				t.Errorf("%s, %s as old object: %+v", name, raw, got)
			}
		}
	}
}

func TestValidator(t *testing.T) {
	using := func(pods int32, cpu string) *v1alpha1.TeamSpace {
		ts := teamSpace(v1alpha1.Finalizer)
		ts.Spec = v1alpha1.TeamSpaceSpec{Pods: pods, CPU: cpu}
		ts.Status.Used = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("4"), corev1.ResourceRequestsCPU: resource.MustParse("800m")}
		return ts
	}
	for name, tc := range map[string]struct {
		now, before *v1alpha1.TeamSpace
		want        []string
	}{
		"a new one":                        {now: using(1, "1m")},
		"raised":                           {now: using(9, "2"), before: using(5, "1")},
		"lowered to what is used":          {now: using(4, "0.8"), before: using(5, "1")},
		"fewer pods than run":              {now: using(3, "1"), before: using(5, "1"), want: []string{"spec.pods 3 is below the 4 pods"}},
		"less cpu than is requested":       {now: using(5, "799m"), before: using(5, "1"), want: []string{`spec.cpu "799m" is below the 800m cpu`}},
		"both":                             {now: using(1, "10m"), before: using(5, "1"), want: []string{"spec.pods", "spec.cpu"}},
		"below already, and not lowered":   {now: using(3, "100m"), before: using(3, "100m")},
		"below already, and raised":        {now: using(3, "200m"), before: using(2, "100m")},
		"spelled in another way":           {now: using(5, "1000m"), before: using(5, "1")},
		"one foreign finalizer dropped":    {now: teamSpace(), before: teamSpace("x/1", v1alpha1.Finalizer)},
		"two foreign finalizers dropped":   {now: teamSpace("x/3"), before: teamSpace("x/1", "x/2", "x/3"), want: []string{"2 finalizers of others at once (x/1, x/2)"}},
		"finalizers in another order":      {now: teamSpace("x/2", "x/1"), before: teamSpace("x/1", "x/2")},
		"ours dropped and another dropped": {now: teamSpace(), before: teamSpace(v1alpha1.Finalizer, "x/1")},
		"let go with a record":             {now: terminating(teamSpace()), before: archived(terminating(teamSpace(v1alpha1.Finalizer)))},
		"let go without a record": {
			now: terminating(teamSpace("x/1")), before: terminating(teamSpace(v1alpha1.Finalizer, "x/1")),
			want: []string{`before the record of TeamSpace "a" is stored`},
		},
		"let go by somebody else before": {now: terminating(teamSpace()), before: terminating(teamSpace("x/1"))},
	} {
		t.Run(name, func(t *testing.T) {
			got := NewValidator().Handle(t.Context(), review(t, tc.now, tc.before))
			if !got.Allowed {
				t.Fatalf("denied: %+v", got.Result)
			}
			if len(got.Warnings) != len(tc.want) {
				t.Fatalf("warnings %q, want %q", got.Warnings, tc.want)
			}
			for i, want := range tc.want {
				if !strings.Contains(got.Warnings[i], want) || strings.Contains(fmt.Sprint(got.Warnings), "\n") {
					t.Errorf("warning %q lacks %q", got.Warnings[i], want)
				}
			}
		})
	}
}
