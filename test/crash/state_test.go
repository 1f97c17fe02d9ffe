package crash

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/archive"
	"labhub.io/teamspace/test/world"
)

// state is what is there of a TeamSpace, by kind, without what differs from run to run:
// uids, versions, times.
type state map[string]string

var uuid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// stateOf reads the state. Of a namespace that is going only that is told.
func (b *bench) stateOf(t *testing.T, name string) state {
	t.Helper()
	s := state{}
	live := "no uid"
	ts := teamSpace(name)
	if b.find(t, ts) {
		live = string(ts.UID)
		slices.SortFunc(ts.Status.Conditions, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
		for i := range ts.Status.Conditions {
			ts.Status.Conditions[i].LastTransitionTime = metav1.Time{}
		}
		s["TeamSpace"] = text(t, map[string]any{"finalizers": ts.Finalizers, "labels": ts.Labels, "annotations": ts.Annotations, "spec": ts.Spec, "status": ts.Status})
	}
	ns, quota, limits := world.TeamNamespace(name), world.Quota(name), world.LimitRange(name)
	if b.find(t, ns) && ns.DeletionTimestamp.IsZero() {
		s["Namespace"] = text(t, map[string]any{"labels": ns.Labels, "annotations": ns.Annotations, "ownerReferences": ns.OwnerReferences})
		if b.find(t, quota) {
			s["ResourceQuota"] = text(t, []any{quota.Spec, quota.Status})
		}
		if b.find(t, limits) {
			s["LimitRange"] = text(t, limits.Spec)
		}
	}
	s["records"] = b.records(t, name)
	for kind := range s {
		told := strings.ReplaceAll(strings.ReplaceAll(s[kind], live, "LIVE-UID"), name, "NAME")
		s[kind] = uuid.ReplaceAllString(told, "OTHER-UID")
	}
	return s
}

// records are those of all TeamSpaces that had the name.
func (b *bench) records(t *testing.T, name string) string {
	t.Helper()
	var configMaps corev1.ConfigMapList
	if err := b.Client.List(t.Context(), &configMaps, client.InNamespace(world.ArchiveNamespace), client.MatchingLabels{archive.LabelArchived: name}); err != nil {
		t.Fatal(err)
	}
	var records []any
	for _, configMap := range configMaps.Items {
		var record struct {
			Name, UID, CPU string
			Pods           int
			Used           map[string]string
			Manifest       v1alpha1.TeamSpace
		}
		if err := json.Unmarshal([]byte(configMap.Data["record.json"]), &record); err != nil {
			t.Fatal(err)
		}
		kept := record.Manifest
		record.Manifest = v1alpha1.TeamSpace{TypeMeta: kept.TypeMeta, Spec: kept.Spec}
		record.Manifest.Name, record.Manifest.Finalizers = kept.Name, kept.Finalizers
		records = append(records, record)
	}
	return text(t, records)
}

// find reads an object, and says whether it is there.
func (b *bench) find(t *testing.T, object client.Object) bool {
	t.Helper()
	err := b.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object)
	if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
		t.Fatal(err)
	}
	return err == nil
}

func text(t *testing.T, value any) string {
	t.Helper()
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
