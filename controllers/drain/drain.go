// Package drain takes TeamSpace off a cluster without harm: so that nothing is left that
// cannot be deleted, no request is judged by a webhook that is not there, and no team
// loses its namespace that was not meant to.
//
// It works with the controller running, long gone, or with half of the release deleted.
// Every step looks at what is there now and may be cut short anywhere: run again, it goes
// on. What is to be done with a TeamSpace is decided in policy.go, and done by the
// controller's own code (teamspace.Releaser).
package drain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/archive"
	"labhub.io/teamspace/controllers/teamspace"
)

// lookAgain is how long it waits before it looks again whether something is done. It is
// also how long everything has to stay done before that is believed: for such a time API
// servers may ask a webhook that has been deleted.
const lookAgain = 2 * time.Second

// Options of a Drain.
type Options struct {
	// Policy says what becomes of TeamSpaces.
	Policy Policy

	// Namespace is the release's, Deployment that of its controller, Lease what the
	// controller holds while it works, Webhook the name of both webhook configurations.
	Namespace, Deployment, Lease, Webhook string
}

// Drain takes TeamSpace off a cluster.
type Drain struct {
	options  Options
	client   client.Client
	releaser *teamspace.Releaser
	clock    clock.PassiveClock
	log      logr.Logger
	seen     holding // of the controller's lease
}

// New returns a Drain. The client must not cache; the archive takes the records of the
// TeamSpaces that go.
func New(live client.Client, store archive.Store, log logr.Logger, options Options) *Drain {
	return &Drain{options: options, client: live, releaser: teamspace.NewReleaser(live, store), clock: clock.RealClock{}, log: log}
}

// Run drains until all is done or the context ends. It returns a RefusedError, with
// nothing changed, where the policy forbids to go on, and an ElsewhereError where the
// options name another release than there is.
func (d *Drain) Run(ctx context.Context) error {
	// The controller first, which would put back what is taken away; then whoever judges,
	// so that neither webhook nor policy stands in the way of what follows.
	for _, step := range []step{d.checkNames, d.ask, d.stopController, d.removeAdmission, d.release} {
		if err := d.until(ctx, step); err != nil {
			return err
		}
	}
	d.log.Info("Done: nothing on this cluster needs TeamSpace any more", "policy", d.options.Policy)
	return nil
}

// step does what there is to do now, and counts what it changed.
type step func(context.Context) (changed int, err error)

// until takes a step again and again, until there was nothing to do or the time is over:
// what fails now, such as a write that a policy forbids whose deletion has not got about,
// may go through in a moment.
func (d *Drain) until(ctx context.Context, take step) error {
	var last error
	changedBefore := false
	err := wait.PollUntilContextCancel(ctx, lookAgain, true, func(ctx context.Context) (bool, error) {
		changed, err := take(ctx)
		if isRefusal(err) {
			return false, err
		}
		if err != nil && ctx.Err() == nil {
			if last == nil || last.Error() != err.Error() {
				d.log.Info("Not done yet", "because", err.Error())
			}
			last = err
		}
		if changedBefore && err == nil && changed > 0 {
			last = errPutBack
		}
		changedBefore = err == nil && changed > 0
		return err == nil && changed == 0, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("not all is done, and it can be run again: %w", errors.Join(last, err))
	}
	return err
}

// isRefusal reports whether there is nothing to be tried again.
func isRefusal(err error) bool {
	_, refused := errors.AsType[*RefusedError](err)
	_, elsewhere := errors.AsType[*ElsewhereError](err)
	return refused || elsewhere
}

// ask refuses if the policy says so.
func (d *Drain) ask(ctx context.Context) (changed int, err error) {
	if d.options.Policy != Fail {
		return 0, nil
	}
	var names []string
	err = d.teamSpaces(ctx, func(ts *v1alpha1.TeamSpace) error {
		names = append(names, ts.Name)
		return nil
	})
	if err == nil && len(names) > 0 {
		err = &RefusedError{TeamSpaces: names}
	}
	return 0, err
}
