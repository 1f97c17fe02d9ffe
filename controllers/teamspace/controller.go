// Package teamspace turns a TeamSpace into a namespace with a quota, keeps both as
// declared, says in the status what is really there, and archives a TeamSpace
// before it lets it go.
//
// A pass reads the present state from the cache and runs a list of steps. Living
// TeamSpaces are served (serve), those being deleted are let go (letGo). A step
// that finds nothing to change sends no request.
package teamspace

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/archive"
)

const (
	// fieldOwner owns every field that this controller writes.
	fieldOwner = client.FieldOwner("teamspace-controller")

	// A failed pass is tried again after 10 ms, doubling up to 30 s: an archive that
	// comes back is noticed within that time.
	firstRetry = 10 * time.Millisecond
	lastRetry  = 30 * time.Second

	// passTimeout bounds one pass, so that no worker is held by a server that
	// accepts a connection and never answers.
	passTimeout = time.Minute
)

// Options of the controller.
type Options struct {
	// Archive takes the record of every deleted TeamSpace.
	Archive archive.Store

	// ProtectedNamespaces are never served and never adopted: the release's own
	// namespace and that of the archive.
	ProtectedNamespaces []string

	// Concurrency is how many TeamSpaces are worked on at the same time.
	Concurrency int

	// TerminatingAfter is how long a namespace may be Terminating before the metric
	// teamspace_namespaces_terminating counts it.
	TerminatingAfter time.Duration
}

// Reconciler keeps TeamSpaces. It reads from the cache; live is for the few
// questions that only the API server may answer.
type Reconciler struct {
	client.Client

	live      client.Reader
	archive   archive.Store
	recorder  events.EventRecorder
	clock     clock.PassiveClock
	protected sets.Set[string]
	options   Options
	drift     *driftMeter
}

// New returns a Reconciler that works through the manager.
func New(mgr ctrl.Manager, options Options) *Reconciler {
	return &Reconciler{
		Client:    mgr.GetClient(),
		live:      mgr.GetAPIReader(),
		archive:   options.Archive,
		recorder:  mgr.GetEventRecorder("teamspace-controller"),
		clock:     clock.RealClock{},
		protected: sets.New(options.ProtectedNamespaces...),
		options:   options,
		drift:     newDriftMeter(clock.RealClock{}),
	}
}

// SetupWithManager registers the controller, its watches and its metrics. Namespaces
// are watched by their metadata and without a selector: an obstacle that goes away
// carries no label of ours.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	if err := registerMetrics(mgr, r.options.TerminatingAfter); err != nil {
		return err
	}
	byNamespaceName := handler.EnqueueRequestsFromMapFunc(requestForNamespace)
	byNamespaceOf := handler.EnqueueRequestsFromMapFunc(r.requestForContent)
	warmup := true
	return ctrl.NewControllerManagedBy(mgr).
		Named("teamspace").
		For(&v1alpha1.TeamSpace{}).
		WatchesMetadata(&corev1.Namespace{}, byNamespaceName).
		Watches(&corev1.LimitRange{}, byNamespaceOf).
		Watches(&corev1.ResourceQuota{}, byNamespaceOf).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.options.Concurrency,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
			ReconciliationTimeout:   passTimeout,
			EnableWarmup:            &warmup,
		}).
		Complete(r)
}

// Reconcile makes one pass over a TeamSpace.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	noticed := r.drift.take(request.Name)
	ts := &v1alpha1.TeamSpace{}
	if err := r.Get(ctx, request.NamespacedName, ts); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	p := newPass(ts, noticed)
	if ts.DeletionTimestamp.IsZero() {
		return result(r.serve(ctx, p))
	}
	return result(r.letGo(ctx, p))
}

// serve makes a living TeamSpace so, and writes its status whatever came of it.
func (r *Reconciler) serve(ctx context.Context, p *pass) error {
	err := p.run(ctx,
		r.ensureFinalizer,
		r.ensureNamespace,
		r.ensureLimitRange,
		r.ensureQuota,
	)
	if apierrors.IsConflict(err) {
		return err // the cache was behind; what the pass believed is not worth a status
	}
	p.summarize(err)
	if errors.Is(err, errNamespaceGoing) {
		err = nil // a watch tells when it is gone; asking again before is of no use
	}
	return errors.Join(err, r.writeStatus(ctx, p))
}

// letGo archives a TeamSpace that is being deleted and gives it free. It never
// deletes the namespace and never waits for it: an owner that is held by our
// finalizer is still an owner, so that waiting would last for ever.
func (r *Reconciler) letGo(ctx context.Context, p *pass) error {
	return p.run(ctx,
		r.markTerminating,
		r.archiveRecord,
		r.releaseIfTypeGoes,
		r.removeFinalizer,
	)
}

// result turns the error of a pass into what the queue should do. A conflict means
// that somebody else wrote first: look again soon, and say nothing.
func result(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: firstRetry}, nil
	}
	return ctrl.Result{}, err
}

// requestForNamespace maps a namespace to the TeamSpace that would have it.
func requestForNamespace(_ context.Context, namespace client.Object) []reconcile.Request {
	return requestFor(namespace.GetName())
}

// requestForContent maps a LimitRange or quota to the TeamSpace of its namespace,
// and notes when the change was seen.
func (r *Reconciler) requestForContent(_ context.Context, content client.Object) []reconcile.Request {
	requests := requestFor(content.GetNamespace())
	for _, request := range requests {
		r.drift.note(request.Name)
	}
	return requests
}

func requestFor(namespace string) []reconcile.Request {
	name, ok := v1alpha1.TeamSpaceFor(namespace)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: name}}}
}
