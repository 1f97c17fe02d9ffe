package restore

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/api/v1alpha1"
	store "labhub.io/teamspace/archive"
)

func TestFromRecord(t *testing.T) {
	at := metav1.NewTime(time.Date(2030, time.May, 4, 12, 0, 0, 0, time.UTC))
	grace := int64(0)
	old := &v1alpha1.TeamSpace{
		ObjectMeta: metav1.ObjectMeta{
			Name: "alpha", UID: "u1", ResourceVersion: "7", Generation: 2, CreationTimestamp: at,
			DeletionTimestamp: &at, DeletionGracePeriodSeconds: &grace,
			Labels: map[string]string{"cost": "7"}, Annotations: map[string]string{"note": "x"},
			Finalizers:      []string{v1alpha1.Finalizer, "acme.example/hold", metav1.FinalizerDeleteDependents},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: "n", UID: "gone"}},
		},
		Spec: v1alpha1.TeamSpaceSpec{Pods: 3, CPU: "1e0"},
	}
	record, err := store.NewRecord(old, at.Time)
	if err != nil {
		t.Fatal(err)
	}
	got, err := FromRecord(record)
	if err != nil {
		t.Fatal(err)
	}
	want := &v1alpha1.TeamSpace{
		ObjectMeta: metav1.ObjectMeta{Name: "alpha", Labels: map[string]string{"cost": "7"}, Annotations: map[string]string{"note": "x"}},
		Spec:       v1alpha1.TeamSpaceSpec{Pods: 3, CPU: "1e0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFromRecord_Refuses(t *testing.T) {
	for name, manifest := range map[string]string{
		"what is no manifest":        `"x"`,
		"the manifest of another":    `{"metadata":{"name":"beta"}}`,
		"a manifest without a name":  `{}`,
		"a spec that cannot be read": `{"metadata":{"name":"alpha"},"spec":{"pods":"many"}}`,
	} {
		if got, err := FromRecord(store.Record{Name: "alpha", Manifest: json.RawMessage(manifest)}); err == nil {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
