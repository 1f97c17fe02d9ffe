// Package enforcement puts the webhooks into force, once somebody answers them.
//
// The chart makes the webhook configurations without rules, so that the API server calls
// nobody while nobody is there yet, whatever the failure policy. When a webhook process
// can be reached through the Service, with a certificate that the configuration trusts,
// the rules are applied, with a field owner of their own. They are never taken back, but
// by a person: with the annotation platform.labhub.io/webhooks: "off" on the namespace of
// the release.
package enforcement

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"labhub.io/teamspace/api/v1alpha1"
)

const (
	// fieldOwner owns the rules.
	fieldOwner = client.FieldOwner("teamspace-enforcement")

	// lookAgain is when what could not be reached is tried again.
	lookAgain = time.Second

	// patience is after which a process that is ready does not insist any more on reaching
	// itself through the Service: where a pod may not do that, the API server may all the
	// same.
	patience = time.Minute
)

// Options of the Reconciler.
type Options struct {
	// Namespace is the release's, Service what the API server calls; both configurations
	// have the Service's name.
	Namespace, Service string

	// Trusted returns an error unless the configurations trust this process.
	Trusted func(context.Context) error
}

// Reconciler puts the webhooks into force. It works on every replica, whoever leads.
type Reconciler struct {
	options Options
	cache   client.Reader
	writer  client.Writer
	reach   func(context.Context, admissionregistrationv1.WebhookClientConfig) error
	clock   clock.PassiveClock
	metrics *enforced

	// since is when this process was trusted first while something lacked its rules.
	since time.Time

	// problem is what was logged last.
	problem atomic.Pointer[string]
}

// New returns a Reconciler that works through the manager.
func New(mgr ctrl.Manager, options Options) *Reconciler {
	return &Reconciler{
		options: options, cache: mgr.GetCache(), writer: mgr.GetClient(), clock: clock.RealClock{},
		reach: services{live: mgr.GetAPIReader()}.reach, metrics: newEnforced(),
	}
}

// SetupWithManager registers the watches and the metrics.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	if err := metrics.Registry.Register(r.metrics); err != nil {
		return err
	}
	once := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: r.options.Namespace, Name: r.options.Service}}
	toOnce := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		if _, configuration := object.(*metav1.PartialObjectMetadata); configuration && object.GetName() != r.options.Namespace {
			return nil
		}
		return []reconcile.Request{once}
	})
	start := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(once)
		return nil
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("enforcement").
		WatchesMetadata(&corev1.Namespace{}, toOnce).
		Watches(&admissionregistrationv1.ValidatingWebhookConfiguration{}, toOnce).
		Watches(&admissionregistrationv1.MutatingWebhookConfiguration{}, toOnce).
		WatchesRawSource(start).
		WithOptions(controller.Options{
			NeedLeaderElection: new(false),
			RateLimiter:        workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](lookAgain/100, 5*lookAgain),
		}).
		Complete(r)
}

// Reconcile makes one pass over both configurations.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	found, err := configurations(ctx, r.cache, r.options.Service)
	if err != nil {
		return reconcile.Result{}, err
	}
	off, err := r.switchedOff(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	r.metrics.set(found)
	for _, c := range found {
		if c.settled(off) {
			continue
		}
		if done, err := r.settle(ctx, c, off); err != nil || !done {
			return reconcile.Result{RequeueAfter: lookAgain}, err
		}
	}
	r.since = time.Time{}
	return reconcile.Result{}, nil
}

// settle gives a configuration the rules that it has to have. It is not done if nobody
// would answer yet, or somebody changed the configuration meanwhile.
func (r *Reconciler) settle(ctx context.Context, c configuration, off bool) (done bool, err error) {
	log := logr.FromContextOrDiscard(ctx)
	if !off {
		insist, err := r.answered(ctx, c)
		if err != nil && insist {
			r.tell(log, "The webhooks are not in force yet", err.Error())
			return false, nil
		}
		if err != nil {
			r.tell(log, "The webhooks are put into force though this process does not reach itself through the Service: "+
				"where the API server does not either, what fails open passes", err.Error())
		}
	}
	declared, err := c.declaration(off)
	if err != nil {
		return false, err
	}
	err = r.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(declared), fieldOwner, client.ForceOwnership)
	if apierrors.IsConflict(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("writing the rules of %s %q: %w", c.kind, c.name, err)
	}
	if off {
		r.tell(log, "The webhooks are out of service, by annotation", c.kind)
	} else {
		r.tell(log, "The webhooks are in force", c.kind)
	}
	return true, nil
}

// switchedOff says whether a person has taken the webhooks out of service.
func (r *Reconciler) switchedOff(ctx context.Context) (bool, error) {
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.cache.Get(ctx, client.ObjectKey{Name: r.options.Namespace}, ns); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading Namespace %q: %w", r.options.Namespace, err)
	}
	return ns.Annotations[v1alpha1.AnnotationWebhooks] == "off", nil
}

// answered returns an error unless every webhook of a configuration would be answered, and
// whether to insist on that.
func (r *Reconciler) answered(ctx context.Context, c configuration) (insist bool, err error) {
	if err := r.options.Trusted(ctx); err != nil {
		r.since = time.Time{}
		return true, err
	}
	now := r.clock.Now()
	if r.since.IsZero() {
		r.since = now
	}
	var failed []error
	for _, h := range c.hooks {
		if err := r.reach(ctx, h.client); err != nil {
			failed = append(failed, fmt.Errorf("reaching webhook %q of %s %q: %w", h.name, c.kind, c.name, err))
		}
	}
	return now.Sub(r.since) < patience, errors.Join(failed...)
}

// tell logs what is new.
func (r *Reconciler) tell(log logr.Logger, message, about string) {
	text := message + about
	if before := r.problem.Swap(&text); before == nil || *before != text {
		log.Info(message, "about", about)
	}
}
