package oracle

import (
	"context"
	"slices"
	"time"

	"labhub.io/teamspace/test/oracle/sample"
)

// shrunkAtOnce limits how many disagreements are made smaller: what is wrong once is
// often wrong in several graphs.
const shrunkAtOnce = 3

// shrinkAll makes the first disagreements as small as it can within the time.
func (l *lab) shrinkAll(ctx context.Context, all []*Disagreement, within time.Duration) error {
	deadline := time.Now().Add(within)
	for _, d := range all[:min(len(all), shrunkAtOnce)] {
		if err := l.shrink(ctx, d, deadline); err != nil {
			return err
		}
	}
	return nil
}

// shrink looks for the smallest sample that still disagrees. All ways to take one thing
// away are tried at once, side by side; then as many as possible of those that left
// the disagreement are taken together, and so on with what that leaves.
func (l *lab) shrink(ctx context.Context, d *Disagreement, deadline time.Time) error {
	d.keep(d.Sample.Truncate(d.Round), nil)
	for time.Now().Before(deadline) {
		l.say("graph %d: making it smaller than %d", d.Number, d.Sample.Size())
		steps := d.Sample.Reductions()
		single, err := l.replay(ctx, d.Sample, one(steps))
		if err != nil {
			return err
		}
		var good [][]sample.Reduction
		for i, still := range single {
			if still != nil {
				good = append(good, []sample.Reduction{steps[i]})
			}
		}
		if len(good) == 0 {
			return nil
		}
		if err := l.combine(ctx, d, good); err != nil {
			return err
		}
	}
	return nil
}

// combine applies the first few reductions together, as many as leave the disagreement.
// The first alone does, unless the disagreement comes and goes.
func (l *lab) combine(ctx context.Context, d *Disagreement, good [][]sample.Reduction) error {
	var growing [][]sample.Reduction
	for n := range good {
		growing = append(growing, slices.Concat(good[:n+1]...))
	}
	found, err := l.replay(ctx, d.Sample, growing)
	if err != nil {
		return err
	}
	best, seen := d.Sample.Reduce(good[0]...), (*Disagreement)(nil)
	for i, still := range found {
		if smaller := d.Sample.Reduce(growing[i]...); still != nil && smaller.Size() <= best.Size() {
			best, seen = smaller, still
		}
	}
	d.keep(best, seen)
	return nil
}

// keep takes a smaller sample, and what was seen of it.
func (d *Disagreement) keep(s *sample.Sample, seen *Disagreement) {
	d.Sample = s
	if seen != nil {
		d.Round, d.mode, d.graph, d.steps, d.rows = seen.Round, seen.mode, seen.graph, seen.steps, seen.rows
	}
}

func one(all []sample.Reduction) [][]sample.Reduction {
	var lists [][]sample.Reduction
	for _, r := range all {
		lists = append(lists, []sample.Reduction{r})
	}
	return lists
}

// replay plays the sample once for each list of reductions, and returns the
// disagreements that are left, nil where there is none.
func (l *lab) replay(ctx context.Context, s *sample.Sample, reductions [][]sample.Reduction) ([]*Disagreement, error) {
	var samples []*sample.Sample
	for _, list := range reductions {
		samples = append(samples, s.Reduce(list...))
	}
	trials, err := l.play(ctx, samples)
	if err != nil {
		return nil, err
	}
	found := make([]*Disagreement, len(trials))
	for i, t := range trials {
		found[i] = t.disagreement
	}
	return found, nil
}
