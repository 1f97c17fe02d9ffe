package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/util/validation"

	"labhub.io/teamspace/certs"
	"labhub.io/teamspace/webhooks/ownerreferences"
)

type options struct {
	controllers      bool
	webhooks         bool
	kubeconfig       string
	releaseNamespace string
	archive          string
	metricsAddress   string
	probeAddress     string
	webhookAddress   string
	webhookService   string
	guardMode        string
	certificates     string
	leafLifetime     time.Duration
	caLifetime       time.Duration
	requests         int
	lameDuck         time.Duration
	logFormat        string
	logLevel         string
	leaderElect      bool
	concurrency      int
	terminatingAfter time.Duration
}

const (
	formatJSON    = "json"
	formatConsole = "console"
)

func defaultOptions() *options {
	return &options{
		controllers:      true,
		webhooks:         true,
		releaseNamespace: os.Getenv("POD_NAMESPACE"),
		archive:          "configmap://teamspace-archive",
		metricsAddress:   ":8080",
		probeAddress:     ":8081",
		webhookAddress:   ":9443",
		webhookService:   "teamspace-webhook",
		guardMode:        string(ownerreferences.Enforce),
		certificates:     string(certs.Self),
		leafLifetime:     certs.DefaultLifetimes().Leaf,
		caLifetime:       certs.DefaultLifetimes().Authority,
		lameDuck:         time.Second,
		logFormat:        formatJSON,
		logLevel:         zapcore.InfoLevel.String(),
		leaderElect:      true,
		concurrency:      10,
		terminatingAfter: 5 * time.Minute,
	}
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	o.addCommonFlags(flags)
	flags.BoolVar(&o.controllers, "controllers", o.controllers, "serve TeamSpaces; if only this one is given, nothing else is done")
	flags.BoolVar(&o.webhooks, "webhooks", o.webhooks, "serve the admission webhooks; if only this one is given, nothing else is done")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", o.metricsAddress, "address of /metrics; 0 turns it off")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", o.probeAddress, "address of /healthz and /readyz; 0 turns them off")
	flags.StringVar(&o.webhookAddress, "webhook-bind-address", o.webhookAddress, "address of the admission webhooks")
	flags.StringVar(&o.webhookService, "webhook-service", o.webhookService, "name of the Service in the release namespace by which the API server calls the webhooks; both webhook configurations have the same name, the Secret with the certificate has it with -certificate behind it")
	flags.StringVar(&o.guardMode, "guard-mode", o.guardMode, "what becomes of wrong owner references where no namespace's label says otherwise: enforce, warn, audit or off")
	flags.StringVar(&o.certificates, "certificate-provider", o.certificates, "who makes the certificate of the webhooks: self, or cert-manager, which then writes the caBundles too")
	flags.DurationVar(&o.leafLifetime, "certificate-lifetime", o.leafLifetime, "how long a certificate of the provider self is good for; it is renewed when a third of that is left")
	flags.DurationVar(&o.caLifetime, "authority-lifetime", o.caLifetime, "how long the authority of the provider self is good for; its successor is made when a third of that is left, and both are trusted until it ends")
	flags.IntVar(&o.requests, "webhook-concurrency", o.requests, "how many requests each webhook judges at the same time; more are answered with 503 at once, which the API server treats by the failure policy (0: 100 for each core that it may use, from 10 to 200)")
	flags.DurationVar(&o.lameDuck, "lame-duck", o.lameDuck, "how long the webhooks go on answering after the signal to stop, while the process is not ready any more")
	flags.BoolVar(&o.leaderElect, "leader-elect", o.leaderElect, "serve TeamSpaces only while holding the lease; turn off only where a second manager cannot run")
	flags.IntVar(&o.concurrency, "concurrency", o.concurrency, "how many TeamSpaces are worked on at the same time")
	flags.DurationVar(&o.terminatingAfter, "terminating-after", o.terminatingAfter, "how long a team's namespace may be Terminating before the metric teamspace_namespaces_terminating counts it and an event names what holds it")
}

// addCommonFlags adds what the command drain has too.
func (o *options) addCommonFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig, "kubeconfig file of the cluster; empty: the usual one ($KUBECONFIG, then the home directory), or else the credentials of the pod")
	flags.StringVar(&o.releaseNamespace, "release-namespace", o.releaseNamespace, "namespace of the release, which holds the lease and the certificate and is never given to a team (default $POD_NAMESPACE)")
	flags.StringVar(&o.archive, "archive", o.archive, "where the records of deleted TeamSpaces go: configmap://NAMESPACE or file:///DIRECTORY")
	flags.StringVar(&o.logFormat, "log-format", o.logFormat, "json, or console for people")
	flags.StringVar(&o.logLevel, "log-level", o.logLevel, "debug, info, warn or error")
}

// complete makes of one part that is asked for alone the only one, and chooses what is left
// to it.
func (o *options) complete(flags *pflag.FlagSet) {
	if o.requests == 0 {
		o.requests = capacity(cores())
	}
	switch {
	case flags.Changed("controllers") && !flags.Changed("webhooks"):
		o.webhooks = !o.controllers
	case flags.Changed("webhooks") && !flags.Changed("controllers"):
		o.controllers = !o.webhooks
	}
}

// certificate says what the certificate of the webhooks is made for, and by whom.
func (o *options) certificate() certs.Options {
	return certs.Options{
		Namespace: o.releaseNamespace, Service: o.webhookService, Provider: certs.Provider(o.certificates),
		Lifetimes: certs.Lifetimes{Leaf: o.leafLifetime, Authority: o.caLifetime},
	}
}

func (o *options) validate() error {
	if o.releaseNamespace == "" {
		return errors.New("no release namespace: set --release-namespace or the environment variable POD_NAMESPACE")
	}
	if len(validation.IsDNS1123Label(o.releaseNamespace)) > 0 {
		return fmt.Errorf("--release-namespace %q: want the name of a namespace, lower-case letters, digits and '-'", o.releaseNamespace)
	}
	if o.logFormat != formatJSON && o.logFormat != formatConsole {
		return fmt.Errorf("--log-format %q: want %s or %s", o.logFormat, formatJSON, formatConsole)
	}
	if _, err := zapcore.ParseLevel(o.logLevel); err != nil {
		return fmt.Errorf("--log-level %q: want debug, info, warn or error", o.logLevel)
	}
	if err := o.validateWebhooks(); err != nil {
		return err
	}
	if !o.controllers && !o.webhooks {
		return errors.New("nothing to do: set --controllers or --webhooks")
	}
	if len(validation.IsDNS1035Label(o.webhookService)) > 0 {
		return fmt.Errorf("--webhook-service %q: want the name of a Service, lower-case letters, digits and '-'", o.webhookService)
	}
	if o.terminatingAfter <= 0 {
		return fmt.Errorf("--terminating-after %s: want more than nothing", o.terminatingAfter)
	}
	if o.concurrency < 1 {
		return fmt.Errorf("--concurrency %d: want at least 1", o.concurrency)
	}
	return nil
}

// validateWebhooks looks at what only the webhooks use.
func (o *options) validateWebhooks() error {
	if _, err := ownerreferences.ParseMode(o.guardMode); err != nil {
		return fmt.Errorf("--guard-mode: %w", err)
	}
	if _, _, err := splitAddress(o.webhookAddress); err != nil {
		return err
	}
	if _, err := certs.ParseProvider(o.certificates); err != nil {
		return fmt.Errorf("--certificate-provider: %w", err)
	}
	if err := o.certificate().Lifetimes.Validate(); err != nil {
		return fmt.Errorf("--certificate-lifetime, --authority-lifetime: %w", err)
	}
	if o.requests < 0 {
		return fmt.Errorf("--webhook-concurrency %d: want 0 or more", o.requests)
	}
	if o.lameDuck < 0 {
		return fmt.Errorf("--lame-duck %s: want 0 or more", o.lameDuck)
	}
	return nil
}
