package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/archive"
	"labhub.io/teamspace/controllers"
	"labhub.io/teamspace/controllers/teamspace"
)

const (
	leaseName = "teamspace-controller"

	// leaseRetry is how often a manager asks for the lease. With the jitter of client-go
	// a standby leads within two seconds of a clean stop of the leader.
	leaseRetry = 800 * time.Millisecond

	// stopTimeout bounds a clean stop. Passes are cancelled by the signal; what is
	// left is to give the lease back.
	stopTimeout = 3 * time.Second
)

// run wires the manager and runs it until the context ends.
func run(ctx context.Context, o *options) error {
	log, err := newLogger(o)
	if err != nil {
		return err
	}
	ctrl.SetLogger(log)
	klog.SetLogger(log.WithName("client-go"))

	config, err := loadConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	scheme := newScheme()
	store, err := openArchive(log, config, scheme, o.archive)
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, managerOptions(scheme, o))
	if err != nil {
		return fmt.Errorf("setting up the manager: %w", err)
	}
	if err := controllers.SetupWithManager(mgr, controllers.Options{TeamSpace: teamspace.Options{
		Archive:             store,
		ProtectedNamespaces: protectedNamespaces(o.releaseNamespace, store),
		Concurrency:         o.concurrency,
		TerminatingAfter:    o.terminatingAfter,
	}}); err != nil {
		return fmt.Errorf("setting up the controllers: %w", err)
	}
	if err := addWebhooks(mgr, config, o); err != nil {
		return fmt.Errorf("setting up the webhooks: %w", err)
	}
	if err := addProbes(mgr); err != nil {
		return fmt.Errorf("setting up the probes: %w", err)
	}
	log.Info("Starting", "version", version(), "archive", o.archive, "releaseNamespace", o.releaseNamespace)
	return mgr.Start(ctx)
}

func newLogger(o *options) (logr.Logger, error) {
	level, err := zapcore.ParseLevel(o.logLevel)
	if err != nil {
		return logr.Logger{}, err
	}
	config := zap.NewProductionConfig()
	if o.logFormat == formatConsole {
		config = zap.NewDevelopmentConfig()
	}
	config.Level = zap.NewAtomicLevelAt(level)
	config.EncoderConfig.EncodeTime = zapcore.ISO8601TimeEncoder
	config.DisableStacktrace = true
	logger, err := config.Build()
	if err != nil {
		return logr.Logger{}, fmt.Errorf("setting up the log: %w", err)
	}
	return zapr.NewLogger(logger), nil
}

// loadConfig reads the named kubeconfig; without one, the usual kubeconfig or else
// the credentials of the pod. The API server's own fairness bounds the load, and
// --concurrency the number of passes; a rate limit in the client would only delay
// the repair of a burst.
func loadConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("loading the credentials of the cluster: %w", err)
	}
	config.UserAgent = "teamspace-manager/" + version()
	config.QPS = -1
	return config, nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// openArchive opens the archive with a client that does not cache. An archive that
// cannot be used yet is no reason not to serve TeamSpaces.
func openArchive(log logr.Logger, config *rest.Config, scheme *runtime.Scheme, url string) (archive.Store, error) {
	live, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("setting up the client of the archive: %w", err)
	}
	store, err := archive.Open(url, live)
	if errors.Is(err, archive.ErrUnavailable) {
		log.Error(err, "TeamSpaces are served, but none can be deleted until the archive can be written", "archive", url)
		return store, nil
	}
	return store, err
}

// protectedNamespaces are those that no team gets.
func protectedNamespaces(release string, store archive.Store) []string {
	if inCluster, ok := store.(*archive.ConfigMapStore); ok {
		return []string{release, inCluster.Namespace()}
	}
	return []string{release}
}

func managerOptions(scheme *runtime.Scheme, o *options) ctrl.Options {
	readYourWrites := true
	graceful, retry := stopTimeout, leaseRetry
	named := func(name string) cache.ByObject {
		return cache.ByObject{Field: fields.OneTermEqualSelector(metav1.ObjectNameField, name)}
	}
	// Of the cluster's quotas and limits only ours are read, which is also all that the
	// role allows; the same holds for what the certificate is about.
	byObject := o.certificate().CacheOptions()
	byObject[&corev1.LimitRange{}] = named(v1alpha1.LimitRangeName)
	byObject[&corev1.ResourceQuota{}] = named(v1alpha1.QuotaName)
	return ctrl.Options{
		Scheme: scheme,
		Cache:  cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: byObject},
		// A pass that follows a write sees that write, so that nothing is written twice.
		Client:                        client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: &readYourWrites}},
		Metrics:                       metricsserver.Options{BindAddress: o.metricsAddress},
		HealthProbeBindAddress:        o.probeAddress,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       o.releaseNamespace,
		LeaderElectionReleaseOnCancel: true, // main ends right after Start
		RetryPeriod:                   &retry,
		GracefulShutdownTimeout:       &graceful,
	}
}

// addProbes makes the manager ready when its cache has caught up with the cluster.
func addProbes(mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("cache", func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), time.Second)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the cache has not caught up with the cluster yet")
		}
		return nil
	})
}
