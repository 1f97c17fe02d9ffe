package oracle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/test/oracle/live"
	"labhub.io/teamspace/test/oracle/plane"
	"labhub.io/teamspace/test/oracle/sample"
)

const (
	pollInterval  = 200 * time.Millisecond
	quietEnough   = 1500 * time.Millisecond
	settleTimeout = 3 * time.Minute

	// fewQueued and unfinishedEnough leave room for what the collector comes back to
	// again and again.
	fewQueued        = 2
	unfinishedEnough = 0.5
)

// lab is a control plane with the types of the samples.
type lab struct {
	plane    *plane.Plane
	cluster  *live.Cluster
	watch    *live.Watch
	progress io.Writer
	began    time.Time
	started  time.Time // of the collector
	spaces   int
	played   []*trial // what they have left is still there
	stop     context.CancelFunc
}

func newLab(ctx context.Context, progress io.Writer) (*lab, error) {
	l := &lab{progress: progress, began: time.Now()}
	l.say("starting a control plane")
	var err error
	if l.plane, err = plane.Start(ctx, plane.Flags()...); err != nil {
		return nil, err
	}
	if err := l.prepare(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// prepare defines the types while there is no collector, which then knows them all
// when it starts.
func (l *lab) prepare(ctx context.Context) error {
	if err := l.plane.StopCollector(ctx); err != nil {
		return err
	}
	var err error
	if l.cluster, err = live.New(l.plane.Config); err != nil {
		return err
	}
	for _, d := range live.Definitions() {
		if err := l.cluster.Define(ctx, d); err != nil {
			return err
		}
	}
	watching, stop := context.WithCancel(ctx)
	l.stop = stop
	l.watch, err = l.cluster.Watch(watching)
	return err
}

func (l *lab) close() error {
	if l.stop != nil {
		l.stop()
	}
	return l.plane.Close()
}

func (l *lab) say(format string, args ...any) {
	fmt.Fprintf(l.progress, "%6.1fs  %s\n", time.Since(l.began).Seconds(), fmt.Sprintf(format, args...))
}

func (l *lab) newSpace() *live.Space {
	l.spaces++
	return l.cluster.NewSpace(fmt.Sprintf("g%d", l.spaces))
}

// enter brings the collector into the mode of a round.
func (l *lab) enter(ctx context.Context, mode sample.Mode) error {
	switch mode {
	case sample.Down:
		return l.plane.StopCollector(ctx)
	case sample.Paused:
		return l.plane.PauseCollector(ctx)
	default:
		return nil
	}
}

// leave has the collector work again, and returns when it does.
func (l *lab) leave(ctx context.Context, mode sample.Mode) error {
	switch mode {
	case sample.Down:
		return l.start(ctx)
	case sample.Paused:
		return l.plane.Resume()
	default:
		return nil
	}
}

// start starts the collector. It works once it has collected an object that was there
// before: its workers begin when it has read everything.
func (l *lab) start(ctx context.Context) error {
	if err := l.until(ctx, "the watch to catch up", func() bool { return l.watch.Quiet() > quietEnough }); err != nil {
		return err
	}
	l.watch.Forget()
	canary := l.newSpace()
	uid, err := createOrphaned(ctx, canary)
	if err != nil {
		return err
	}
	l.started = time.Now()
	if err := l.plane.StartCollector(ctx); err != nil {
		return err
	}
	return l.until(ctx, "the collector to begin", func() bool { return !canary.State(uid, l.watch.Objects()).Exists })
}

// createOrphaned creates an object that the collector has to delete.
func createOrphaned(ctx context.Context, space *live.Space) (types.UID, error) {
	o, err := space.Create(ctx, graph.Object{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: "a", Name: "canary", UID: "canary",
		Owners: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "nobody", UID: "nobody"}},
	})
	if err != nil {
		return "", err
	}
	// The watch has to know it before it can see it go.
	return o.UID, nil
}

// settle waits until nothing moves: for a while no object has changed and the collector
// had next to nothing to do.
func (l *lab) settle(ctx context.Context) error {
	var work plane.Work
	var last error
	calm := time.Now()
	err := l.until(ctx, "the collector to settle", func() bool {
		work, last = l.plane.Work(ctx)
		if last != nil || work.Queued > fewQueued || work.Unfinished > unfinishedEnough {
			calm = time.Now()
		}
		return time.Since(calm) > quietEnough && l.watch.Quiet() > quietEnough
	})
	if err != nil {
		return errors.Join(fmt.Errorf("%w (%+v, quiet for %s since %s changed)",
			err, work, l.watch.Quiet().Round(time.Second), l.watch.Last()), last)
	}
	return nil
}

func (l *lab) until(ctx context.Context, what string, done func() bool) error {
	err := wait.PollUntilContextTimeout(ctx, pollInterval, settleTimeout, true, func(context.Context) (bool, error) {
		return done(), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}
