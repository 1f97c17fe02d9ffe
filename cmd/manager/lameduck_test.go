package main

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// endless is a webhook server that serves until it is told to stop.
type endless struct{ webhook.Server }

// Start implements webhook.Server.
func (endless) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// TestLameDuck: the server outlives the signal, and the end of everything else, by its
// period, and whichever comes first begins it.
func TestLameDuck(t *testing.T) {
	const period = 50 * time.Millisecond
	for name, ends := range map[string]func(signal, rest context.CancelFunc){
		"the signal":           func(signal, _ context.CancelFunc) { signal() },
		"an error of the rest": func(_, rest context.CancelFunc) { rest() },
		"both at once":         func(signal, rest context.CancelFunc) { signal(); rest() },
	} {
		t.Run(name, func(t *testing.T) {
			told, signal := context.WithCancel(t.Context())
			ctx, rest := context.WithCancel(t.Context())
			defer signal()
			defer rest()
			ended := make(chan error)
			go func() { ended <- (&lameDuck{Server: endless{}, told: told, period: period}).Start(ctx) }()
			began := time.Now()
			ends(signal, rest)
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took < period {
				t.Errorf("it ended after %s", took)
			}
		})
	}
}
