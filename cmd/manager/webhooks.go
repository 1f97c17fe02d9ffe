package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"labhub.io/teamspace/certs"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/webhooks"
	"labhub.io/teamspace/webhooks/enforcement"
	"labhub.io/teamspace/webhooks/ownerreferences"
)

// addWebhooks serves the webhooks on every replica, whichever leads, and makes the
// manager ready only when the API server would accept its certificate.
func addWebhooks(ctx context.Context, mgr ctrl.Manager, config *rest.Config, o *options) error {
	host, port, err := splitAddress(o.webhookAddress)
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
	guard, err := guardOptions(ctx, mgr, config, o)
	if err != nil {
		return err
	}
	err = webhooks.Register(server, webhooks.Options{
		OwnerReferences: guard, Concurrency: o.requests, Draining: func() bool { return ctx.Err() != nil },
	})
	if err != nil {
		return err
	}
	if err := mgr.Add(&lameDuck{Server: server, told: ctx, period: o.lameDuck}); err != nil {
		return err
	}
	force := enforcement.New(mgr, enforcement.Options{Namespace: o.releaseNamespace, Service: o.webhookService, Trusted: keeper.Trusted})
	if err := force.SetupWithManager(mgr); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("webhooks", server.StartedChecker()); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("certificate", keeper.Check)
}

// guardOptions gives the guard clients that cache nothing, for all that a verdict rests
// on. Only the modes of namespaces come from the manager's cache.
func guardOptions(ctx context.Context, mgr ctrl.Manager, config *rest.Config, o *options) (ownerreferences.Options, error) {
	mode, err := ownerreferences.ParseMode(o.guardMode)
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
	// Known from the start, and not from the first request on, which would have to wait.
	if _, err := mgr.GetCache().GetInformer(ctx, ownerreferences.Namespace(), cache.BlockUntilSynced(false)); err != nil {
		return ownerreferences.Options{}, fmt.Errorf("watching the modes of namespaces: %w", err)
	}
	return ownerreferences.Options{
		Mode:       mode,
		Namespaces: mgr.GetCache(),
		Owners:     inventory.NewReader(inventory.NewCatalog(types), objects),
		Access:     ownerreferences.AccessReviews{Client: mgr.GetClient()},
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
