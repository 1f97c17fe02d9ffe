package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

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
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// firstLook is when a pass looks again that has lost a race.
const firstLook = 10 * time.Millisecond

// fieldOwner owns what is written here: the caBundles, and the Secret.
const fieldOwner = client.FieldOwner("teamspace-certificates")

// Options name what a Keeper keeps. The Secret is called after the Service, with
// "-certificate" behind it; both webhook configurations have the Service's name.
type Options struct {
	// Namespace is the release's, in which Service and Secret are.
	Namespace string

	// Service is what the API server calls.
	Service string
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
	options Options
	live    client.Reader
	cache   client.Reader
	writer  client.Writer
	clock   clock.PassiveClock
	served  atomic.Pointer[served]
}

// served is what a server presents, and the pair that it comes from.
type served struct {
	pair        Pair
	certificate *tls.Certificate
}

// NewKeeper returns a Keeper that works through the manager.
func NewKeeper(mgr ctrl.Manager, options Options) *Keeper {
	return &Keeper{
		options: options, live: mgr.GetAPIReader(), cache: mgr.GetCache(), writer: mgr.GetClient(), clock: clock.RealClock{},
	}
}

// SetupWithManager registers the watches. The first pass needs no event: on an empty
// cluster there is nothing that could bring one.
func (k *Keeper) SetupWithManager(mgr ctrl.Manager) error {
	everywhere := false
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
		WithOptions(controller.Options{NeedLeaderElection: &everywhere}).
		Complete(k)
}

// Reconcile makes one pass: the pair of the Secret is served, and then published.
func (k *Keeper) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	pair, err := k.settle(ctx)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return reconcile.Result{RequeueAfter: firstLook}, nil // another replica was first
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	certificate, err := pair.Certificate(k.options.name(), k.clock.Now())
	if err != nil {
		return reconcile.Result{}, err
	}
	k.served.Store(&served{pair: pair, certificate: certificate})
	return reconcile.Result{}, k.publish(ctx, pair.CA)
}

// GetCertificate is what a TLS server calls for each connection.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if served := k.served.Load(); served != nil {
		return served.certificate, nil
	}
	return nil, errNoCertificate
}

var errNoCertificate = errors.New("there is no certificate yet")

// Check is a probe: it fails unless every webhook configuration that is there trusts
// what is served.
func (k *Keeper) Check(request *http.Request) error {
	served := k.served.Load()
	if served == nil {
		return errNoCertificate
	}
	found, err := k.configurations(request.Context())
	if err != nil {
		return err
	}
	for _, c := range found {
		for _, h := range c.hooks {
			if err := Trusts(h.bundle, served.certificate.Leaf, k.options.name(), k.clock.Now()); err != nil {
				return fmt.Errorf("asking whether webhook %q of %s %q trusts the certificate: %w", h.name, c.kind, c.name, err)
			}
		}
	}
	return nil
}
