package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
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
	"labhub.io/teamspace/internal/version"
)

// stopTimeout bounds a clean stop. Passes are cancelled by the signal; what is left is to
// give the lease back.
const stopTimeout = 3 * time.Second

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
	mgr, err := ctrl.NewManager(config, managerOptions(newScheme(), o))
	if err != nil {
		return fmt.Errorf("setting up the manager: %w", err)
	}
	if o.controllers {
		if err := addControllers(mgr, log, config, o); err != nil {
			return fmt.Errorf("setting up the controllers: %w", err)
		}
	}
	if o.webhooks {
		if err := addWebhooks(ctx, mgr, config, o); err != nil {
			return fmt.Errorf("setting up the webhooks: %w", err)
		}
	}
	if err := addProbes(ctx, mgr); err != nil {
		return fmt.Errorf("setting up the probes: %w", err)
	}
	log.Info("Starting", "version", version.Get(), "controllers", o.controllers, "webhooks", o.webhooks, "releaseNamespace", o.releaseNamespace)
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
	config.UserAgent = "teamspace-manager/" + version.Get()
	config.QPS = -1
	return config, nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// managerOptions has what the parts need that are asked for: an account of the chart may
// read no more than that.
func managerOptions(scheme *runtime.Scheme, o *options) ctrl.Options {
	graceful := stopTimeout
	if o.webhooks {
		graceful += o.lameDuck
	}
	options := ctrl.Options{
		Scheme:                  scheme,
		Cache:                   cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: map[client.Object]cache.ByObject{}},
		Metrics:                 metricsserver.Options{BindAddress: o.metricsAddress},
		HealthProbeBindAddress:  o.probeAddress,
		GracefulShutdownTimeout: &graceful,
	}
	if o.controllers {
		controllerOptions(&options, o)
	}
	if o.webhooks {
		maps.Copy(options.Cache.ByObject, o.certificate().CacheOptions())
	}
	return options
}

// addProbes makes the manager ready when its cache has caught up with the cluster, and not
// ready any more from the moment on at which it is told to stop.
func addProbes(ctx context.Context, mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	err := mgr.AddReadyzCheck("stopping", func(*http.Request) error {
		if ctx.Err() != nil {
			return errors.New("the process has been told to stop")
		}
		return nil
	})
	if err != nil {
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
