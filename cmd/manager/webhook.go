package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/pflag"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"labhub.io/teamspace/certs"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/webhooks"
	"labhub.io/teamspace/webhooks/ownerreferences"
)

// webhookConcurrency is how many requests each webhook answers at the same time. One
// takes a few milliseconds; more than this at once means that the API server does not
// answer, and then the rest had better fail open at once than in three seconds.
const webhookConcurrency = 200

// webhookOptions are those of the part that serves the webhooks.
type webhookOptions struct {
	options

	address string
	service string
	mode    string
}

func newWebhookOptions() *webhookOptions {
	return &webhookOptions{
		options: defaultOptions(),
		address: ":9443",
		service: "teamspace-webhook",
		mode:    string(ownerreferences.Enforce),
	}
}

func (o *webhookOptions) addFlags(flags *pflag.FlagSet) {
	o.options.addFlags(flags)
	flags.StringVar(&o.address, "webhook-bind-address", o.address, "address of the admission webhooks")
	flags.StringVar(&o.service, "webhook-service", o.service, "name of the Service in the release namespace by which the API server calls the webhooks; both webhook configurations have the same name, the Secret with the certificate has it with -certificate behind it")
	flags.StringVar(&o.mode, "guard-mode", o.mode, "what becomes of wrong owner references where no namespace's label says otherwise: enforce, warn, audit or off")
}

func (o *webhookOptions) validate() error {
	if _, err := ownerreferences.ParseMode(o.mode); err != nil {
		return fmt.Errorf("--guard-mode: %w", err)
	}
	if _, _, err := splitAddress(o.address); err != nil {
		return err
	}
	return o.options.validate()
}

// certificate names what the certificate of the webhooks is made for.
func (o *webhookOptions) certificate() certs.Options {
	return certs.Options{Namespace: o.releaseNamespace, Service: o.service}
}

// run wires the webhooks and serves them until the context ends.
func (o *webhookOptions) run(ctx context.Context) error {
	log, config, err := o.connect()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, o.managerOptions())
	if err != nil {
		return fmt.Errorf("setting up the manager: %w", err)
	}
	if err := o.serve(mgr, config); err != nil {
		return fmt.Errorf("setting up the webhooks: %w", err)
	}
	log.Info("Starting the webhook", "version", version(), "mode", o.mode, "releaseNamespace", o.releaseNamespace)
	return start(ctx, mgr)
}

// managerOptions: of Secrets and webhook configurations only ours are read, which is
// also all that the role allows.
func (o *webhookOptions) managerOptions() ctrl.Options {
	options := o.options.managerOptions()
	options.Cache.ByObject = o.certificate().CacheOptions()
	return options
}

// serve makes the process ready only when the API server would accept its certificate.
func (o *webhookOptions) serve(mgr ctrl.Manager, config *rest.Config) error {
	host, port, err := splitAddress(o.address)
	if err != nil {
		return err
	}
	keeper := certs.NewKeeper(mgr, o.certificate())
	if err := keeper.SetupWithManager(mgr); err != nil {
		return err
	}
	server := webhook.NewServer(webhook.Options{Host: host, Port: port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.GetCertificate = keeper.GetCertificate
	}}})
	guard, err := o.guard(mgr, config)
	if err != nil {
		return err
	}
	if err := webhooks.Register(server, webhooks.Options{OwnerReferences: guard, Concurrency: webhookConcurrency}); err != nil {
		return err
	}
	if err := mgr.Add(server); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("webhooks", server.StartedChecker()); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("certificate", keeper.Check)
}

// guard has clients that cache nothing, for all that a verdict rests on. Only the modes
// of namespaces come from the manager's cache.
func (o *webhookOptions) guard(mgr ctrl.Manager, config *rest.Config) (ownerreferences.Options, error) {
	mode, err := ownerreferences.ParseMode(o.mode)
	if err != nil {
		return ownerreferences.Options{}, err
	}
	types, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return ownerreferences.Options{}, fmt.Errorf("setting up the client that reads the served types: %w", err)
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return ownerreferences.Options{}, fmt.Errorf("setting up the client that reads owners: %w", err)
	}
	reviews, err := client.New(config, client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return ownerreferences.Options{}, fmt.Errorf("setting up the client of access reviews: %w", err)
	}
	return ownerreferences.Options{
		Mode:       mode,
		Namespaces: mgr.GetCache(),
		Owners:     inventory.NewReader(inventory.NewCatalog(types), objects),
		Access:     ownerreferences.AccessReviews{Client: reviews},
	}, nil
}

// splitAddress reads host:port; without a host it is every address of the machine.
func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err == nil && (port < 1 || port > 65535) {
		err = fmt.Errorf("port %d: want 1 to 65535", port)
	}
	if err != nil {
		return "", 0, fmt.Errorf("--webhook-bind-address %q: %w", address, err)
	}
	return host, port, nil
}
