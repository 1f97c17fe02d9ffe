package teamspace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"labhub.io/teamspace/api/v1alpha1"
)

const (
	liveUID  = types.UID("11111111-1111-1111-1111-111111111111")
	staleUID = types.UID("22222222-2222-2222-2222-222222222222")
)

func teamSpace() *v1alpha1.TeamSpace {
	return &v1alpha1.TeamSpace{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: liveUID}}
}

// namespaceOf builds the namespace of TeamSpace "x" as the controller makes it, and
// changes it.
func namespaceOf(changes ...func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
	ns := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name:            "team-x",
		Labels:          map[string]string{v1alpha1.LabelTeamSpace: "x"},
		OwnerReferences: []metav1.OwnerReference{ownerReference(teamSpace())},
	}}
	for _, change := range changes {
		change(ns)
	}
	return ns
}

func withoutLabel(ns *metav1.PartialObjectMetadata)     { ns.Labels = nil }
func withoutReference(ns *metav1.PartialObjectMetadata) { ns.OwnerReferences = nil }
func withStaleUID(ns *metav1.PartialObjectMetadata)     { ns.OwnerReferences[0].UID = staleUID }
func handedOver(ns *metav1.PartialObjectMetadata) {
	ns.Annotations = map[string]string{v1alpha1.AnnotationAdopt: "x"}
}
func terminating(ns *metav1.PartialObjectMetadata) {
	now := metav1.Now()
	ns.DeletionTimestamp = &now
}
func notController(ns *metav1.PartialObjectMetadata) { ns.OwnerReferences[0].Controller = nil }
func withForeignController(ns *metav1.PartialObjectMetadata) {
	yes := true
	ns.OwnerReferences = []metav1.OwnerReference{{APIVersion: "acme.example/v1", Kind: "Tenant", Name: "t", UID: staleUID, Controller: &yes}}
}

func TestClaim(t *testing.T) {
	tests := map[string]struct {
		namespace *metav1.PartialObjectMetadata
		want      claim
	}{
		"no namespace": {nil, claimNone},
		"label and controller reference are ours":     {namespaceOf(), claimOurs},
		"ours and being deleted":                      {namespaceOf(terminating), claimTerminating},
		"reference that does not block is loose":      {namespaceOf(func(ns *metav1.PartialObjectMetadata) { ns.OwnerReferences[0].BlockOwnerDeletion = nil }), claimLoose},
		"reference with a wrong name is loose (R17)":  {namespaceOf(func(ns *metav1.PartialObjectMetadata) { ns.OwnerReferences[0].Name = "y" }), claimLoose},
		"reference of another served version is ours": {namespaceOf(func(ns *metav1.PartialObjectMetadata) { ns.OwnerReferences[0].APIVersion = "platform.labhub.io/v1" }), claimOurs},
		"label alone is half":                         {namespaceOf(withoutReference), claimHalf},
		"reference alone is half":                     {namespaceOf(withoutLabel), claimHalf},
		"neither is foreign":                          {namespaceOf(withoutLabel, withoutReference), claimForeign},
		"reference that is no controller is half":     {namespaceOf(notController), claimHalf},
		"label of another TeamSpace is half":          {namespaceOf(func(ns *metav1.PartialObjectMetadata) { ns.Labels[v1alpha1.LabelTeamSpace] = "y" }), claimHalf},
		"uid of an earlier TeamSpace is stale (K6)":   {namespaceOf(withStaleUID), claimStale},
		"stale without the label is stale too":        {namespaceOf(withStaleUID, withoutLabel), claimStale},
		"reference to another TeamSpace is foreign":   {namespaceOf(withStaleUID, func(ns *metav1.PartialObjectMetadata) { ns.OwnerReferences[0].Name = "y" }), claimForeign},
		"annotated and unowned is adoptable":          {namespaceOf(withoutReference, withoutLabel, handedOver), claimAdoptable},
		"annotated for another name is foreign": {namespaceOf(withoutReference, withoutLabel, func(ns *metav1.PartialObjectMetadata) {
			ns.Annotations = map[string]string{v1alpha1.AnnotationAdopt: "y"}
		}), claimForeign},
		"annotated but controlled by another is foreign": {namespaceOf(withForeignController, handedOver), claimForeign},
		"annotated but being deleted is foreign":         {namespaceOf(withoutReference, handedOver, terminating), claimForeignGoing},
		"stale and annotated is stale first":             {namespaceOf(withStaleUID, handedOver), claimStale},
		"stale and being deleted is not worth saving":    {namespaceOf(withStaleUID, terminating), claimForeignGoing},
		"our reference alone, annotated, is adoptable":   {namespaceOf(withoutLabel, handedOver), claimAdoptable},
	}
	r := &Reconciler{protected: sets.New("team-system")}
	system := teamSpace()
	system.Name = "system"
	for _, ns := range []*metav1.PartialObjectMetadata{nil, namespaceOf(withoutReference, handedOver)} {
		if got := r.claim(system, ns); got != claimProtected {
			t.Errorf("claim on the release's own namespace = %d, want it protected, whether or not it is there", got)
		}
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := r.claim(teamSpace(), tc.namespace); got != tc.want {
				t.Errorf("claim = %d, want %d", got, tc.want)
			}
		})
	}
}

func TestMend(t *testing.T) {
	foreign := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "33333333-3333-3333-3333-333333333333"}
	addForeign := func(ns *metav1.PartialObjectMetadata) { ns.OwnerReferences = append(ns.OwnerReferences, foreign) }
	own := ownerReference(teamSpace())
	tests := map[string]struct {
		namespace *metav1.PartialObjectMetadata
		wantRefs  []metav1.OwnerReference
		want      claim
	}{
		"a loose reference is written anew, others stay": {
			namespaceOf(func(ns *metav1.PartialObjectMetadata) { ns.OwnerReferences[0].BlockOwnerDeletion = nil }, addForeign),
			[]metav1.OwnerReference{foreign, own}, claimOurs,
		},
		"a stale reference goes, others stay": {
			namespaceOf(withStaleUID, addForeign), []metav1.OwnerReference{foreign}, claimHalf,
		},
		"stale and handed over is adopted in one go": {
			namespaceOf(withStaleUID, withoutLabel, handedOver), []metav1.OwnerReference{own}, claimOurs,
		},
		"handed over is adopted":              {namespaceOf(withoutReference, handedOver), []metav1.OwnerReference{own}, claimOurs},
		"what is ours stays as it is":         {namespaceOf(), []metav1.OwnerReference{own}, claimOurs},
		"what is somebody's stays as it is":   {namespaceOf(withForeignController), namespaceOf(withForeignController).OwnerReferences, claimForeign},
		"a reference alone stays as it is":    {namespaceOf(withoutLabel), []metav1.OwnerReference{own}, claimHalf},
		"a terminating one of ours stays too": {namespaceOf(terminating), []metav1.OwnerReference{own}, claimTerminating},
	}
	r := &Reconciler{}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := tc.namespace.DeepCopy()
			mended := r.mend(teamSpace(), tc.namespace)
			if diff := cmp.Diff(tc.wantRefs, mended.OwnerReferences); diff != "" {
				t.Errorf("ownerReferences (-want +got):\n%s", diff)
			}
			if got := r.claim(teamSpace(), mended); got != tc.want {
				t.Errorf("claim after mending = %d, want %d", got, tc.want)
			}
			if tc.want == claimOurs && mended.Annotations[v1alpha1.AnnotationAdopt] != "" {
				t.Error("the adopt annotation was not consumed")
			}
			if diff := cmp.Diff(before, tc.namespace); diff != "" {
				t.Errorf("the namespace that was read has been changed:\n%s", diff)
			}
		})
	}
}

func TestReleased(t *testing.T) {
	free := released(teamSpace(), namespaceOf())
	if len(free.OwnerReferences) != 0 {
		t.Errorf("ownerReferences = %v, want none", free.OwnerReferences)
	}
	again := teamSpace()
	again.UID = staleUID // made again later, under another uid
	r := &Reconciler{}
	if got := r.claim(again, free); got != claimAdoptable {
		t.Errorf("claim of a later TeamSpace = %d, want adoptable", got)
	}
}

func TestVerdict_onlyOursIsReady(t *testing.T) {
	for c := claimNone; c <= claimForeign; c++ {
		v := c.verdict("x")
		if (v.status == metav1.ConditionTrue) != (c == claimOurs) {
			t.Errorf("claim %d: status %s", c, v.status)
		}
		if stalled := v.reason == v1alpha1.ReasonNamespaceConflict; stalled != (c == claimForeign || c == claimForeignGoing || c == claimHalf || c == claimProtected) {
			t.Errorf("claim %d: reason %s", c, v.reason)
		}
	}
}
