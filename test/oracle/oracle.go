package oracle

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"labhub.io/teamspace/test/oracle/sample"
)

// Options say what is compared.
type Options struct {
	Draws []Draw
	// Progress is told what happens.
	Progress io.Writer
	// ShrinkFor limits how long disagreements are made smaller.
	ShrinkFor time.Duration
}

// Draw is so many graphs of a seed, from a number on.
type Draw struct {
	Seed   uint64
	First  int
	Graphs int
}

// batch is how many graphs go through the rounds together. The collector comes back to
// ten objects in a second that it could not judge, so that with many more of them it
// would be late everywhere.
const batch = 75

// Report is the outcome for the graphs of one seed.
type Report struct {
	Draw
	Agreed, Objects int
	// Doubtful counts the graphs of which some prediction was not deterministic.
	Doubtful      int
	Disagreements []*Disagreement
}

// String is the line that sums up.
func (r *Report) String() string {
	return fmt.Sprintf("agreement: %d of %d graphs (seed %d, %d objects, %d with a non-deterministic row)",
		r.Agreed, r.Graphs, r.Seed, r.Objects, r.Doubtful)
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
	t.disagreement.Seed, t.disagreement.Number = r.Seed, number
	r.Disagreements = append(r.Disagreements, t.disagreement)
}

// drawn is one graph of a run.
type drawn struct {
	report *Report
	number int
}

// Run draws graphs, has a real collector work on them, and compares. It starts the
// control plane and stops it. An error says that there was nothing to compare; that
// predictions were wrong is no error.
func Run(ctx context.Context, o Options) (reports []*Report, err error) {
	var all []drawn
	for _, d := range o.Draws {
		r := &Report{Draw: d}
		reports = append(reports, r)
		for number := range d.Graphs {
			all = append(all, drawn{r, d.First + number})
		}
	}
	l, err := newLab(ctx, o.Progress)
	if err != nil {
		return reports, err
	}
	defer func() {
		if closeErr := l.close(); err == nil {
			err = closeErr
		}
	}()
	for some := range slices.Chunk(all, batch) {
		if err := l.compare(ctx, some); err != nil {
			return reports, err
		}
	}
	for _, r := range reports {
		if err := l.shrinkAll(ctx, r.Disagreements, o.ShrinkFor); err != nil {
			return reports, err
		}
	}
	return reports, nil
}

// compare plays graphs and counts what has become of them.
func (l *lab) compare(ctx context.Context, some []drawn) error {
	var samples []*sample.Sample
	for _, d := range some {
		samples = append(samples, sample.Draw(d.report.Seed, uint64(d.number)))
	}
	l.say("%d graphs, from number %d of seed %d", len(some), some[0].number, some[0].report.Seed)
	trials, err := l.play(ctx, samples)
	if err != nil {
		return err
	}
	for i, t := range trials {
		some[i].report.count(t, some[i].number)
	}
	return nil
}
