package world

import (
	"testing"
	"time"
)

// Patience is how long a test waits for what the product or a controller of
// Kubernetes does at once, on a machine that has other things to do as well.
const Patience = 30 * time.Second

// CollectorPatience is for what waits for the garbage collector, which looks for new
// types twice a minute only.
const CollectorPatience = 90 * time.Second

// Eventually polls until the check returns nil, and fails the test if it does not.
func Eventually(t testing.TB, within time.Duration, what string, check func() error) {
	t.Helper()
	deadline := time.After(within)
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s: not within %s: %v", what, within, err)
		case <-tick.C:
		}
	}
}

// Never polls for the whole of a time, and fails the test as soon as the check
// returns an error: for what must not happen.
func Never(t testing.TB, within time.Duration, what string, check func() error) {
	t.Helper()
	deadline := time.After(within)
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if err := check(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		select {
		case <-deadline:
			return
		case <-tick.C:
		}
	}
}
