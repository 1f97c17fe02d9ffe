package archive

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/api/v1alpha1"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 999, time.UTC)

func teamSpace(uid string) *v1alpha1.TeamSpace {
	return &v1alpha1.TeamSpace{
		ObjectMeta: metav1.ObjectMeta{
			Name:          "x",
			UID:           types.UID(uid),
			Labels:        map[string]string{"cost-centre": "4711"},
			Finalizers:    []string{"acme.example/one", v1alpha1.Finalizer},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		},
		Spec: v1alpha1.TeamSpaceSpec{Pods: 5, CPU: "1000m"},
		Status: v1alpha1.TeamSpaceStatus{
			Namespace: "team-x",
			Used:      corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")},
		},
	}
}

func recordOf(t *testing.T, ts *v1alpha1.TeamSpace, at time.Time) Record {
	t.Helper()
	record, err := NewRecord(ts, at)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func TestNewRecord(t *testing.T) {
	data, err := encode(recordOf(t, teamSpace("u1"), noon))
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]any{
		"name": "x", "uid": "u1", "pods": float64(5), "cpu": "1000m",
		"archivedAt": "2026-03-01T12:00:00Z", "schemaVersion": float64(1),
	} {
		if document[field] != want {
			t.Errorf("%s = %v, want %v", field, document[field], want)
		}
	}
	manifest, _ := document["manifest"].(map[string]any)
	metadata, _ := manifest["metadata"].(map[string]any)
	if manifest["kind"] != "TeamSpace" || manifest["apiVersion"] != "platform.labhub.io/v1alpha1" {
		t.Errorf("manifest is a %v of %v", manifest["kind"], manifest["apiVersion"])
	}
	if _, ok := manifest["status"]; ok {
		t.Error("manifest has a status")
	}
	if _, ok := metadata["managedFields"]; ok {
		t.Error("manifest has managedFields")
	}
	if labels, _ := metadata["labels"].(map[string]any); labels["cost-centre"] != "4711" {
		t.Errorf("manifest lost its labels: %v", metadata)
	}
	if used, _ := document["used"].(map[string]any); used["pods"] != "3" {
		t.Errorf("used = %v", document["used"])
	}
	if !strings.Contains(string(data), `"pods": 5,`) {
		t.Error("pods is not written as an integer")
	}
}

func TestDecode_refuses(t *testing.T) {
	for name, data := range map[string]string{
		"no JSON":          `{"name":`,
		"a later schema":   `{"name":"x","uid":"u","schemaVersion":2}`,
		"no schema":        `{"name":"x","uid":"u"}`,
		"no uid":           `{"name":"x","schemaVersion":1}`,
		"something else":   `[]`,
		"an empty file":    ``,
		"no name":          `{"uid":"u","schemaVersion":1}`,
		"a negative value": `{"name":"x","uid":"u","schemaVersion":-1}`,
	} {
		t.Run(name, func(t *testing.T) {
			if record, err := decode([]byte(data)); err == nil {
				t.Errorf("decode took it: %v", record)
			}
		})
	}
}

func TestSameContent(t *testing.T) {
	base := recordOf(t, teamSpace("u1"), noon)
	later := recordOf(t, teamSpace("u1"), noon.Add(time.Hour))
	if !base.SameContent(later) {
		t.Error("the time of writing counts")
	}
	changed := teamSpace("u1")
	changed.Spec.Pods = 6
	if base.SameContent(recordOf(t, changed, noon)) {
		t.Error("another number of pods does not count")
	}
	relabelled := teamSpace("u1")
	relabelled.Labels["cost-centre"] = "4712"
	if base.SameContent(recordOf(t, relabelled, noon)) {
		t.Error("another manifest does not count")
	}
}
