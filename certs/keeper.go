package certs

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// firstLook is when a pass looks again that has lost a race.
	firstLook = 10 * time.Millisecond

	// longestLook is when a pass looks again though nothing is due: timers stand still
	// while a machine sleeps, and clocks are set.
	longestLook = time.Minute

	// longestPause is between two passes that fail. Whatever stood in the way, the
	// certificate is mended soon after it has gone.
	longestPause = 5 * time.Second
)

// fieldOwner owns what is written here: the caBundles, and the Secret.
const fieldOwner = client.FieldOwner("teamspace-certificates")

// Options name what a Keeper keeps. The Secret is called after the Service, with
// "-certificate" behind it; both webhook configurations have the Service's name.
type Options struct {
	// Namespace is the release's, in which Service and Secret are.
	Namespace string

	// Service is what the API server calls.
	Service string

	// Provider makes the certificate; the built-in one by default.
	Provider Provider

	// Lifetimes are those of the built-in provider's certificates.
	Lifetimes Lifetimes
}

func (o Options) secret() string { return o.Service + "-certificate" }

// name is what the API server expects in the certificate of a Service.
func (o Options) name() string { return o.Service + "." + o.Namespace + ".svc" }

// CacheOptions bounds what the manager's cache holds for a Keeper to the few objects
// that it keeps, which is also all that its role may read.
func (o Options) CacheOptions() map[client.Object]cache.ByObject {
	configuration := cache.ByObject{Field: fields.OneTermEqualSelector(metav1.ObjectNameField, o.Service)}
	return map[client.Object]cache.ByObject{
		&corev1.Secret{}: {
			Namespaces: map[string]cache.Config{o.Namespace: {}},
			Field:      fields.OneTermEqualSelector(metav1.ObjectNameField, o.secret()),
		},
		&admissionregistrationv1.ValidatingWebhookConfiguration{}: configuration,
		&admissionregistrationv1.MutatingWebhookConfiguration{}:   configuration,
	}
}

// Keeper keeps the certificate. It works on every replica, whoever leads: each has to
// serve, and what they write is the same.
type Keeper struct {
	options  Options
	provider provider
	live     client.Reader
	cache    client.Reader
	writer   client.Writer
	clock    clock.PassiveClock
	log      logr.Logger
	state
}

// NewKeeper returns a Keeper that works through the manager.
func NewKeeper(mgr ctrl.Manager, options Options) *Keeper {
	k := newKeeper(options, mgr.GetAPIReader(), mgr.GetCache(), mgr.GetClient(), clock.RealClock{})
	k.log = mgr.GetLogger().WithName("certificates")
	return k
}

func newKeeper(options Options, live, cached client.Reader, writer client.Writer, clock clock.PassiveClock) *Keeper {
	k := &Keeper{options: options, live: live, cache: cached, writer: writer, clock: clock}
	if options.Provider == CertManager {
		k.provider = &certManager{options: options, clock: clock}
		return k
	}
	k.provider = &self{
		options: options, rotation: rotation{name: options.name(), lifetimes: options.Lifetimes},
		live: live, writer: writer, clock: clock,
	}
	return k
}

// SetupWithManager registers the watches and the metrics. The first pass needs no event:
// on an empty cluster there is nothing that could bring one.
func (k *Keeper) SetupWithManager(mgr ctrl.Manager) error {
	if err := metrics.Registry.Register(collector{k}); err != nil {
		return err
	}
	once := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: k.options.Namespace, Name: k.options.Service}}
	toOnce := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{once}
	})
	start := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(once)
		return nil
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("certificates").
		Watches(&corev1.Secret{}, toOnce).
		Watches(&admissionregistrationv1.ValidatingWebhookConfiguration{}, toOnce).
		Watches(&admissionregistrationv1.MutatingWebhookConfiguration{}, toOnce).
		WatchesRawSource(start).
		WithOptions(controller.Options{
			NeedLeaderElection: new(false),
			RateLimiter:        workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstLook, longestPause),
		}).
		Complete(k)
}

// Reconcile makes one pass: the provider says what is to be served, the caBundles are
// brought up to that, and it is served once they are. Whatever fails, what is served
// stays.
func (k *Keeper) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	pair, due, err := k.provider.settle(ctx, k.cache, k.servedPair())
	if err == nil {
		pair, due, err = k.publish(ctx, pair, due)
	}
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: firstLook}, nil // another replica was first
	}
	k.note(logr.FromContextOrDiscard(ctx), err)
	if err != nil {
		return k.later(err)
	}
	wait, err := k.adopt(ctx, pair)
	if err != nil {
		return reconcile.Result{}, err
	}
	if wait == 0 {
		wait = due.Sub(k.clock.Now())
	}
	return reconcile.Result{RequeueAfter: min(max(wait, firstLook), longestLook)}, nil
}

// later says when to look again after a failure. What cert-manager has to put right comes
// with an event, so that a pass that finds the Secret wanting is no error of ours.
func (k *Keeper) later(err error) (reconcile.Result, error) {
	if k.options.Provider == CertManager {
		return reconcile.Result{RequeueAfter: longestLook}, nil
	}
	return reconcile.Result{}, err
}

// servedPair is what is served, nil before there is anything.
func (k *Keeper) servedPair() *Pair {
	if served := k.served.Load(); served != nil {
		return &served.pair
	}
	return nil
}

// GetCertificate is what a TLS server calls for each connection.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if served := k.served.Load(); served != nil {
		return served.certificate, nil
	}
	return nil, errNoCertificate
}
