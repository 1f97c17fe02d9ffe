package teamspace

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/teamspace/api/v1alpha1"
)

// claim is what a TeamSpace may say about the namespace that has its name.
type claim int

const (
	// claimNone: there is no such namespace.
	claimNone claim = iota

	// claimOurs: label and controller reference with the live uid are there.
	claimOurs

	// claimLoose: ours, but the reference does not read as we write it. A wrong name
	// in it counts as an absent owner (K6, R17), so that it has to be put right.
	claimLoose

	// claimTerminating: ours, and being deleted.
	claimTerminating

	// claimStale: it belonged to an earlier TeamSpace of this name. The collector
	// deletes it when it next looks (K6, R11), so that the reference has to go.
	claimStale

	// claimAdoptable: somebody who may do so has handed it over by annotation.
	claimAdoptable

	// claimProtected: the release's own namespace or that of the archive.
	claimProtected

	// claimHalf: label or controller reference is there, and the other one was taken off.
	claimHalf

	// claimForeignGoing: somebody else's, or an earlier TeamSpace's, and being deleted.
	claimForeignGoing

	// claimForeign: somebody else's.
	claimForeign
)

// claim judges a namespace; nil is none. It decides from the two objects alone.
func (r *Reconciler) claim(ts *v1alpha1.TeamSpace, ns *metav1.PartialObjectMetadata) claim {
	switch {
	case r.protected.Has(v1alpha1.NamespaceFor(ts.Name)):
		return claimProtected
	case ns == nil:
		return claimNone
	case ns.Labels[v1alpha1.LabelTeamSpace] == ts.Name && slices.ContainsFunc(ns.OwnerReferences, controlledBy(ts)):
		return claimOfOwn(ts, ns)
	case !ns.DeletionTimestamp.IsZero():
		return claimForeignGoing
	case slices.ContainsFunc(ns.OwnerReferences, staleFor(ts)):
		return claimStale
	case ns.Annotations[v1alpha1.AnnotationAdopt] == ts.Name && !controlledByOther(ts, ns):
		return claimAdoptable
	case slices.ContainsFunc(ns.OwnerReferences, controlledBy(ts)),
		ns.Labels[v1alpha1.LabelTeamSpace] == ts.Name && !controlledByOther(ts, ns):
		return claimHalf
	default:
		return claimForeign
	}
}

func claimOfOwn(ts *v1alpha1.TeamSpace, ns *metav1.PartialObjectMetadata) claim {
	switch {
	case !ns.DeletionTimestamp.IsZero():
		return claimTerminating
	case !slices.ContainsFunc(ns.OwnerReferences, sameReference(ownerReference(ts))):
		return claimLoose
	default:
		return claimOurs
	}
}

// mend returns the namespace as it should be. A stale reference goes even when the
// namespace is handed over to nobody: removing a reference is always safe, leaving
// it is not.
func (r *Reconciler) mend(ts *v1alpha1.TeamSpace, ns *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	mended := ns.DeepCopy()
	if r.claim(ts, mended) == claimStale {
		mended.OwnerReferences = slices.DeleteFunc(mended.OwnerReferences, staleFor(ts))
	}
	if c := r.claim(ts, mended); c == claimLoose || c == claimAdoptable {
		mended.OwnerReferences = slices.DeleteFunc(mended.OwnerReferences, hasUID(ts))
		mended.OwnerReferences = append(mended.OwnerReferences, ownerReference(ts))
		metav1.SetMetaDataLabel(&mended.ObjectMeta, v1alpha1.LabelTeamSpace, ts.Name)
		delete(mended.Annotations, v1alpha1.AnnotationAdopt)
	}
	return mended
}

// released returns the namespace without our reference and marked so that a later
// TeamSpace of this name takes it back.
func released(ts *v1alpha1.TeamSpace, ns *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	free := ns.DeepCopy()
	free.OwnerReferences = slices.DeleteFunc(free.OwnerReferences, hasUID(ts))
	metav1.SetMetaDataAnnotation(&free.ObjectMeta, v1alpha1.AnnotationAdopt, ts.Name)
	return free
}

// verdict is a claim in the words of the condition NamespaceReady.
type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
}

func (c claim) verdict(teamSpace string) verdict {
	ns := v1alpha1.NamespaceFor(teamSpace)
	switch c {
	case claimOurs:
		return verdict{metav1.ConditionTrue, v1alpha1.ReasonActive, fmt.Sprintf("namespace %q is Active", ns)}
	case claimTerminating:
		return verdict{metav1.ConditionFalse, v1alpha1.ReasonNamespaceTerminating, fmt.Sprintf("namespace %q is being deleted; it is made again when it is gone", ns)}
	case claimProtected:
		return verdict{metav1.ConditionFalse, v1alpha1.ReasonNamespaceConflict, fmt.Sprintf("namespace %q is TeamSpace's own and is never given to a team; choose another name for the TeamSpace", ns)}
	case claimForeignGoing:
		return verdict{metav1.ConditionFalse, v1alpha1.ReasonNamespaceConflict, fmt.Sprintf("namespace %q does not belong to this TeamSpace and is being deleted; it is made anew when it is gone", ns)}
	case claimHalf:
		return verdict{metav1.ConditionFalse, v1alpha1.ReasonNamespaceConflict,
			fmt.Sprintf("namespace %q has only one of the label and the owner reference that make it this TeamSpace's, so it is left alone; %s", ns, handOver(teamSpace))}
	case claimForeign:
		return verdict{metav1.ConditionFalse, v1alpha1.ReasonNamespaceConflict,
			fmt.Sprintf("namespace %q is there already and does not belong to this TeamSpace, so it is left alone; %s; or delete it, with all that is in it", ns, handOver(teamSpace))}
	case claimNone:
		return verdict{metav1.ConditionFalse, v1alpha1.ReasonProgressing, fmt.Sprintf("there is no namespace %q", ns)}
	default:
		return verdict{metav1.ConditionFalse, v1alpha1.ReasonProgressing, fmt.Sprintf("the owner of namespace %q is being settled", ns)}
	}
}

// handOver says how a namespace becomes a TeamSpace's.
func handOver(teamSpace string) string {
	return fmt.Sprintf("to hand it over (it then goes when the TeamSpace goes): kubectl annotate namespace %s %s=%s",
		v1alpha1.NamespaceFor(teamSpace), v1alpha1.AnnotationAdopt, teamSpace)
}

// ownerReference is the one reference that makes a namespace a TeamSpace's own.
func ownerReference(ts *v1alpha1.TeamSpace) metav1.OwnerReference {
	return *metav1.NewControllerRef(ts, v1alpha1.GroupVersionKind)
}

func sameReference(wanted metav1.OwnerReference) func(metav1.OwnerReference) bool {
	return func(ref metav1.OwnerReference) bool {
		return ref.UID == wanted.UID && ref.Name == wanted.Name && ref.Kind == wanted.Kind && isTeamSpace(ref) &&
			isTrue(ref.Controller) && isTrue(ref.BlockOwnerDeletion)
	}
}

func controlledBy(ts *v1alpha1.TeamSpace) func(metav1.OwnerReference) bool {
	return func(ref metav1.OwnerReference) bool { return ref.UID == ts.UID && isTrue(ref.Controller) }
}

// controlledByOther says whether a namespace has a controller that is not this very
// TeamSpace.
func controlledByOther(ts *v1alpha1.TeamSpace, ns *metav1.PartialObjectMetadata) bool {
	controller := metav1.GetControllerOf(ns)
	return controller != nil && controller.UID != ts.UID
}

func hasUID(ts *v1alpha1.TeamSpace) func(metav1.OwnerReference) bool {
	return func(ref metav1.OwnerReference) bool { return ref.UID == ts.UID }
}

func staleFor(ts *v1alpha1.TeamSpace) func(metav1.OwnerReference) bool {
	return func(ref metav1.OwnerReference) bool {
		return isTeamSpace(ref) && ref.Name == ts.Name && ref.UID != ts.UID
	}
}

func isTeamSpace(ref metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == v1alpha1.GroupVersion.Group && ref.Kind == v1alpha1.GroupVersionKind.Kind
}

func isTrue(b *bool) bool { return b != nil && *b }
