package teamspace

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/archive"
)

// Releaser gives TeamSpaces and their namespaces free where no controller runs any more,
// by the controller's own steps. Each method may be cut short anywhere and called again.
// A controller that runs beside it would undo what it does.
type Releaser struct {
	r *Reconciler
}

// NewReleaser returns a Releaser. The client must not cache.
func NewReleaser(live client.Client, store archive.Store) *Releaser {
	return &Releaser{&Reconciler{Client: live, live: live, archive: store, recorder: silent{}, clock: clock.RealClock{}}}
}

// TypeGoes asks whether the CustomResourceDefinition is being deleted or gone, so that
// every namespace has to be spared that still names a TeamSpace as its owner.
func (l *Releaser) TypeGoes(ctx context.Context) (bool, error) { return typeGoes(ctx, l.r.live) }

// LetGo archives a TeamSpace that is being deleted and takes our finalizer off it, as the
// controller would have done.
func (l *Releaser) LetGo(ctx context.Context, ts *v1alpha1.TeamSpace) error {
	return l.r.letGo(ctx, newPass(ts, l.r.clock.Now()))
}

// Hold puts our finalizer on a living TeamSpace that lacks it, so that it cannot go
// without a record.
func (l *Releaser) Hold(ctx context.Context, ts *v1alpha1.TeamSpace) error {
	_, err := l.r.ensureFinalizer(ctx, newPass(ts, l.r.clock.Now()))
	return err
}

// Free takes the reference off the namespace of a living TeamSpace, which becomes
// adoptable by its name, then our finalizer off the TeamSpace, and says in its status
// that nobody keeps it any more. It says whether there was anything to do.
func (l *Releaser) Free(ctx context.Context, ts *v1alpha1.TeamSpace) (changed bool, err error) {
	bound, err := l.r.boundNamespace(ctx, ts)
	if err != nil {
		return false, err
	}
	before := ts.ResourceVersion
	err = newPass(ts, l.r.clock.Now()).run(ctx, l.r.markReleased, l.r.releaseNamespace, l.r.removeHeldFinalizer)
	return bound != nil || ts.ResourceVersion != before, err
}

// Disown drops the references to TeamSpaces from a namespace whose TeamSpace is gone
// together with its type: when the type comes back, the collector would find the owner
// absent and delete the namespace. It says whether there was anything to drop.
func (l *Releaser) Disown(ctx context.Context, ns *metav1.PartialObjectMetadata) (bool, error) {
	free := disowned(ns)
	if free == nil {
		return false, nil
	}
	return true, l.r.patchNamespace(ctx, ns, free)
}

// disowned returns the namespace as it should be; nil if it is that already. One that is
// being deleted is nobody's to keep.
func disowned(ns *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	name, ok := v1alpha1.TeamSpaceFor(ns.Name)
	if !ok || !ns.DeletionTimestamp.IsZero() || !slices.ContainsFunc(ns.OwnerReferences, isTeamSpace) {
		return nil
	}
	free := ns.DeepCopy()
	for _, ref := range ns.OwnerReferences {
		if isTeamSpace(ref) {
			free = released(&v1alpha1.TeamSpace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: ref.UID}}, free)
		}
	}
	return free
}

// markReleased takes Ready back before the first change: what stays has to be true with
// nobody there to correct it.
func (r *Reconciler) markReleased(ctx context.Context, p *pass) (bool, error) {
	p.set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReleased,
		"TeamSpace was uninstalled: nobody keeps this TeamSpace until it is installed again")
	p.clear(v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled)
	return true, r.writeStatus(ctx, p)
}

// removeHeldFinalizer removes our finalizer if it is there, and sees that it is gone: the
// API server may ask a webhook for some moments more after its configuration was deleted,
// and the webhook puts it back on a TeamSpace that lives.
func (r *Reconciler) removeHeldFinalizer(ctx context.Context, p *pass) (bool, error) {
	if !controllerutil.ContainsFinalizer(p.ts, v1alpha1.Finalizer) {
		return true, nil
	}
	if _, err := r.removeFinalizer(ctx, p); err != nil {
		return false, err
	}
	if controllerutil.ContainsFinalizer(p.ts, v1alpha1.Finalizer) {
		return false, fmt.Errorf("removing finalizer %s from TeamSpace %q: a webhook has put it back", v1alpha1.Finalizer, p.ts.Name)
	}
	return true, nil
}

// silent records no events: whoever releases by hand reads what is done as it is done.
type silent struct{}

// Eventf implements events.EventRecorder.
func (silent) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}
