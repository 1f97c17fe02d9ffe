package teamspace

import (
	"encoding/json"
	"slices"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/api/v1alpha1"
)

const (
	foreignOne = "acme.example/one"
	foreignTwo = "acme.example/two"
)

// TestFinalizerPatches applies the patches with the library that the API server
// uses, to the object that the patch was made from and to what it has become since.
func TestFinalizerPatches(t *testing.T) {
	tests := map[string]struct {
		patch  func(*v1alpha1.TeamSpace) []jsonPatchOperation
		seen   []string
		stored []string // nil: as seen
		want   []string // nil: the server refuses
	}{
		"added to none":                        {patch: finalizerAdded, want: []string{v1alpha1.Finalizer}},
		"added behind others":                  {patch: finalizerAdded, seen: []string{foreignOne, foreignTwo}, want: []string{foreignOne, foreignTwo, v1alpha1.Finalizer}},
		"not added over a list of since":       {patch: finalizerAdded, stored: []string{foreignOne}},
		"removed from between others":          {patch: finalizerRemoved, seen: []string{foreignOne, v1alpha1.Finalizer, foreignTwo}, want: []string{foreignOne, foreignTwo}},
		"removed alone":                        {patch: finalizerRemoved, seen: []string{v1alpha1.Finalizer}, want: []string{}},
		"removed, one was appended meanwhile":  {patch: finalizerRemoved, seen: []string{v1alpha1.Finalizer}, stored: []string{v1alpha1.Finalizer, foreignOne}, want: []string{foreignOne}},
		"not removed from a place that moved":  {patch: finalizerRemoved, seen: []string{foreignOne, v1alpha1.Finalizer}, stored: []string{v1alpha1.Finalizer, foreignTwo}},
		"not removed when it is gone already":  {patch: finalizerRemoved, seen: []string{foreignOne, v1alpha1.Finalizer}, stored: []string{foreignOne}},
		"removed, the first was taken and put": {patch: finalizerRemoved, seen: []string{foreignOne, v1alpha1.Finalizer}, stored: []string{foreignTwo, v1alpha1.Finalizer}, want: []string{foreignTwo}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			seen := &v1alpha1.TeamSpace{ObjectMeta: metav1.ObjectMeta{UID: liveUID, ResourceVersion: "7", Finalizers: tc.seen}}
			stored := seen.DeepCopy()
			if tc.stored != nil {
				stored.Finalizers, stored.ResourceVersion = tc.stored, "8"
			}
			got, err := applied(t, stored, tc.patch(seen))
			if tc.want == nil {
				if err == nil {
					t.Fatalf("the patch was taken: %v", got)
				}
				return
			}
			if err != nil {
				t.Fatalf("the patch was refused: %v", err)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("finalizers = %v, want %v", got, tc.want)
			}
		})
	}
}

func applied(t *testing.T, stored *v1alpha1.TeamSpace, operations []jsonPatchOperation) ([]string, error) {
	t.Helper()
	document, err := json.Marshal(stored)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(operations)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(data)
	if err != nil {
		t.Fatal(err)
	}
	document, err = patch.Apply(document)
	if err != nil {
		return nil, err
	}
	var result v1alpha1.TeamSpace
	if err := json.Unmarshal(document, &result); err != nil {
		t.Fatal(err)
	}
	return result.Finalizers, nil
}
