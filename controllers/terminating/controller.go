// Package terminating tells of teams' namespaces that do not go. Nobody but their
// owners may take finalizers away, so that all there is to do is to say who has to.
package terminating

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"labhub.io/teamspace/api/v1alpha1"
)

// Options of the controller.
type Options struct {
	// After is how long a namespace may be Terminating before that is told.
	After time.Duration
}

// Reconciler looks at teams' namespaces that are being deleted.
type Reconciler struct {
	cached   client.Reader
	live     client.Reader
	recorder events.EventRecorder
	clock    clock.PassiveClock
	after    time.Duration

	mu   sync.Mutex
	told map[string]told // by namespace
}

// told is what was said last of a namespace, so that it is said once.
type told struct {
	uid  types.UID
	what obstacle
}

// New returns a Reconciler that works through the manager.
func New(mgr ctrl.Manager, options Options) *Reconciler {
	return &Reconciler{
		cached:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		recorder: mgr.GetEventRecorder("teamspace-controller"),
		clock:    clock.RealClock{},
		after:    options.After,
		told:     map[string]told{},
	}
}

// SetupWithManager registers the controller and its watch. It shares the metadata of
// namespaces with the TeamSpace controller, and wakes for those only that are going.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("terminating").
		For(&corev1.Namespace{}, builder.OnlyMetadata, builder.WithPredicates(predicate.NewPredicateFuncs(isGoing))).
		Complete(r)
}

// isGoing says whether a namespace is a team's and being deleted.
func isGoing(namespace client.Object) bool {
	_, ofTeam := namespace.GetLabels()[v1alpha1.LabelTeamSpace]
	return ofTeam && !namespace.GetDeletionTimestamp().IsZero()
}

// Reconcile waits, without a request, until a namespace has had its time. Then it reads
// the namespace live, because what holds it is in its status, which is not cached. Each
// change of that status brings the next look.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	seen := &metav1.PartialObjectMetadata{}
	seen.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.cached.Get(ctx, request.NamespacedName, seen); err != nil {
		r.forget(request.Name)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !isGoing(seen) {
		return ctrl.Result{}, nil
	}
	if wait := r.after - r.clock.Since(seen.DeletionTimestamp.Time); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	ns := &corev1.Namespace{}
	if err := r.live.Get(ctx, request.NamespacedName, ns); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading Namespace %q: %w", request.Name, err)
	}
	if what := obstacleOf(ns); r.isNews(ns, what) {
		r.tell(ctx, ns, what)
	}
	return ctrl.Result{}, nil
}

// isNews says whether something else was said of the namespace last, and notes it.
func (r *Reconciler) isNews(ns *corev1.Namespace, what obstacle) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := told{ns.UID, what}
	before, ok := r.told[ns.Name]
	r.told[ns.Name] = now
	return !ok || before != now
}

func (r *Reconciler) forget(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.told, namespace)
}

// tell says it of the namespace, and of its TeamSpace if there still is one: after a
// deletion in the background there is none.
func (r *Reconciler) tell(ctx context.Context, ns *corev1.Namespace, what obstacle) {
	note := fmt.Sprintf("namespace %q has been Terminating since %s: %s",
		ns.Name, ns.DeletionTimestamp.UTC().Format(time.RFC3339), what.message)
	ts := r.owner(ctx, ns)
	if ts == nil {
		r.recorder.Eventf(ns, nil, corev1.EventTypeWarning, v1alpha1.ReasonNamespaceStuck, what.action, "%s", note)
		return
	}
	r.recorder.Eventf(ns, ts, corev1.EventTypeWarning, v1alpha1.ReasonNamespaceStuck, what.action, "%s", note)
	r.recorder.Eventf(ts, ns, corev1.EventTypeWarning, v1alpha1.ReasonNamespaceStuck, what.action, "%s", note)
}

// owner is the TeamSpace that the namespace belongs to, nil if it is gone.
func (r *Reconciler) owner(ctx context.Context, ns *corev1.Namespace) *v1alpha1.TeamSpace {
	controller := metav1.GetControllerOf(ns)
	if controller == nil {
		return nil
	}
	ts := &v1alpha1.TeamSpace{}
	if err := r.cached.Get(ctx, client.ObjectKey{Name: controller.Name}, ts); err != nil || ts.UID != controller.UID {
		return nil
	}
	return ts
}
