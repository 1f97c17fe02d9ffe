package oracle

import (
	"context"
	"fmt"
	"io"
	"time"

	"labhub.io/teamspace/test/oracle/sample"
)

// Options say what is compared.
type Options struct {
	Graphs int
	Seed   uint64
	// Progress is told what happens.
	Progress io.Writer
	// ShrinkFor limits how long disagreements are made smaller.
	ShrinkFor time.Duration
}

// batch is how many graphs go through the rounds together. With more of them each
// round takes longer, and the pauses of the collector grow with that.
const batch = 100

// Report is the outcome of a run.
type Report struct {
	Graphs, Agreed, Objects int
	// Doubtful counts the graphs of which some prediction was not deterministic.
	Doubtful      int
	Seed          uint64
	Disagreements []*Disagreement
}

// String is the line that sums up.
func (r Report) String() string {
	return fmt.Sprintf("agreement: %d of %d graphs (seed %d, %d objects, %d with a non-deterministic row)",
		r.Agreed, r.Graphs, r.Seed, r.Objects, r.Doubtful)
}

// Run draws graphs, has a real collector work on them, and compares. It starts the
// control plane and stops it. An error says that there was nothing to compare; that
// predictions were wrong is no error.
func Run(ctx context.Context, o Options) (r Report, err error) {
	r = Report{Graphs: o.Graphs, Seed: o.Seed}
	l, err := newLab(ctx, o.Progress)
	if err != nil {
		return r, err
	}
	defer func() {
		if closeErr := l.close(); err == nil {
			err = closeErr
		}
	}()
	for first := 0; first < o.Graphs; first += batch {
		var samples []*sample.Sample
		for number := first; number < min(first+batch, o.Graphs); number++ {
			samples = append(samples, sample.Draw(o.Seed, uint64(number)))
		}
		l.say("graphs %d to %d of %d", first+1, first+len(samples), o.Graphs)
		trials, err := l.play(ctx, samples)
		if err != nil {
			return r, err
		}
		for i, t := range trials {
			r.count(t, first+i)
		}
	}
	return r, l.shrinkAll(ctx, r.Disagreements, o.ShrinkFor)
}

// count adds a graph to the report.
func (r *Report) count(t *trial, number int) {
	r.Objects += len(t.sample.All())
	if t.doubtful {
		r.Doubtful++
	}
	if t.disagreement == nil {
		r.Agreed++
		return
	}
	t.disagreement.Number = number
	r.Disagreements = append(r.Disagreements, t.disagreement)
}
