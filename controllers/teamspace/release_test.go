package teamspace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/api/v1alpha1"
)

func TestDisowned(t *testing.T) {
	reference := func(uid, apiVersion, kind string) metav1.OwnerReference {
		ref := ownerReference(teamSpace())
		ref.UID, ref.APIVersion, ref.Kind = "uid-"+"x", apiVersion, kind
		if uid != "" {
			ref.UID = liveUID
		}
		return ref
	}
	ours := reference("live", v1alpha1.GroupVersion.String(), "TeamSpace")
	older := reference("", v1alpha1.GroupVersion.String(), "TeamSpace")
	other := reference("", "acme.example/v1", "TeamSpace")
	now := metav1.Now()
	tests := map[string]struct {
		name     string
		deleted  *metav1.Time
		owners   []metav1.OwnerReference
		wantLeft []metav1.OwnerReference
		wantNil  bool
	}{
		"one of ours is dropped":             {name: "team-alpha", owners: []metav1.OwnerReference{ours}},
		"and that of an earlier TeamSpace":   {name: "team-alpha", owners: []metav1.OwnerReference{older, ours}},
		"other owners stay":                  {name: "team-alpha", owners: []metav1.OwnerReference{other, ours}, wantLeft: []metav1.OwnerReference{other}},
		"a kind of that name is another one": {name: "team-alpha", owners: []metav1.OwnerReference{other}, wantNil: true},
		"none at all":                        {name: "team-alpha", wantNil: true},
		"one that is being deleted":          {name: "team-alpha", deleted: &now, owners: []metav1.OwnerReference{ours}, wantNil: true},
		"one that is no team's":              {name: "alpha", owners: []metav1.OwnerReference{ours}, wantNil: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ns := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: tc.name, DeletionTimestamp: tc.deleted, OwnerReferences: tc.owners}}
			got := disowned(ns)
			if (got == nil) != tc.wantNil {
				t.Fatalf("disowned = %+v", got)
			}
			if got == nil {
				return
			}
			if diff := cmp.Diff(tc.wantLeft, got.OwnerReferences, cmp.Transformer("empty", func(refs []metav1.OwnerReference) []metav1.OwnerReference {
				return append([]metav1.OwnerReference{}, refs...)
			})); diff != "" {
				t.Errorf("references (-want +got):\n%s", diff)
			}
			if got.Annotations[v1alpha1.AnnotationAdopt] != "alpha" {
				t.Errorf("annotations %v: it cannot be adopted again", got.Annotations)
			}
			if len(ns.OwnerReferences) != len(tc.owners) || len(ns.Annotations) != 0 {
				t.Error("what was read has been changed")
			}
		})
	}
}
