// Package webhooks registers the admission webhooks of the manager. Each has a folder
// of its own; this is the only place that knows all of them.
package webhooks

import (
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"labhub.io/teamspace/webhooks/ownerreferences"
	"labhub.io/teamspace/webhooks/teamspace"
)

// Options of all webhooks.
type Options struct {
	// OwnerReferences are the options of the guard.
	OwnerReferences ownerreferences.Options

	// Concurrency is how many requests each webhook answers at the same time.
	Concurrency int

	// Draining says whether the process has been told to stop.
	Draining func() bool
}

// Register adds every webhook to the server.
func Register(server webhook.Server, options Options) error {
	if err := ownerreferences.RegisterMetrics(); err != nil {
		return err
	}
	if err := registerMetrics(); err != nil {
		return err
	}
	for path, handler := range map[string]admission.Handler{
		ownerreferences.Path:   ownerreferences.New(options.OwnerReferences),
		teamspace.DefaultPath:  teamspace.NewDefaulter(),
		teamspace.ValidatePath: teamspace.NewValidator(),
	} {
		judged := timed(durations.WithLabelValues(path), &admission.Webhook{Handler: handler})
		server.Register(path, finishing(options.Draining, limit(options.Concurrency, sheds.WithLabelValues(path).Inc, judged)))
	}
	return nil
}
