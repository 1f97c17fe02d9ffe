package main

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// lameDuck is a webhook server that goes on answering for a while after the process was
// told to stop. The API server learns with a delay that the process is not ready any more,
// and sends requests to it until then.
type lameDuck struct {
	webhook.Server

	// told ends when the process is told to stop. It is a signal here, and cancels nothing.
	told context.Context

	period time.Duration
}

// Start implements manager.Runnable. Its context ends when everything else has stopped;
// the period begins before that, with the signal.
func (l *lameDuck) Start(ctx context.Context) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var once sync.Once
	begin := func() { once.Do(func() { time.AfterFunc(l.period, cancel) }) }
	defer context.AfterFunc(l.told, begin)()
	defer context.AfterFunc(ctx, begin)()
	return l.Server.Start(inner)
}
