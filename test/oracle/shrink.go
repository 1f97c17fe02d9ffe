package oracle

import (
	"context"
	"slices"
	"time"

	"labhub.io/teamspace/test/oracle/sample"
)

// shrunk limits how many disagreements are made smaller: what is wrong once is often
// wrong in several graphs.
const shrunk = 3

// shrinker looks for the smallest sample that still disagrees.
type shrinker struct {
	// play plays samples and returns the disagreements, nil where there is none.
	play     func(context.Context, []*sample.Sample) ([]*Disagreement, error)
	say      func(format string, args ...any)
	deadline time.Time
}

// shrinkAll makes the first disagreements as small as it can within the time.
func (l *lab) shrinkAll(ctx context.Context, all []*Disagreement, within time.Duration) error {
	s := shrinker{play: l.disagreements, say: l.say, deadline: time.Now().Add(within)}
	for _, d := range all[:min(len(all), shrunk)] {
		if err := s.shrink(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) disagreements(ctx context.Context, samples []*sample.Sample) ([]*Disagreement, error) {
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

// shrink takes away whatever it can. All ways to take one thing away are tried at once,
// side by side; then as many as possible of those that left the disagreement are taken
// together, and so on with what that leaves.
func (s *shrinker) shrink(ctx context.Context, d *Disagreement) error {
	d.Sample = d.Sample.Truncate(d.Round)
	for time.Now().Before(s.deadline) {
		s.say("graph %d: making it smaller than %d", d.Number, d.Sample.Size())
		var single, good [][]sample.Reduction
		for _, r := range d.Sample.Reductions() {
			single = append(single, []sample.Reduction{r})
		}
		found, err := s.replay(ctx, d.Sample, single)
		if err != nil {
			return err
		}
		for i, still := range found {
			if still != nil {
				good = append(good, single[i])
			}
		}
		if len(good) == 0 {
			return nil
		}
		if err := s.combine(ctx, d, good); err != nil {
			return err
		}
	}
	return nil
}

// combine applies the first few reductions together, as many as leave the disagreement.
// The first alone does, unless the disagreement comes and goes.
func (s *shrinker) combine(ctx context.Context, d *Disagreement, good [][]sample.Reduction) error {
	var growing [][]sample.Reduction
	for n := range good {
		growing = append(growing, slices.Concat(good[:n+1]...))
	}
	found, err := s.replay(ctx, d.Sample, growing)
	if err != nil {
		return err
	}
	best, seen := d.Sample.Reduce(good[0]...), (*Disagreement)(nil)
	for i, still := range found {
		if smaller := d.Sample.Reduce(growing[i]...); still != nil && smaller.Size() <= best.Size() {
			best, seen = smaller, still
		}
	}
	d.Sample = best
	if seen != nil {
		d.Round, d.mode, d.graph, d.steps, d.rows = seen.Round, seen.mode, seen.graph, seen.steps, seen.rows
	}
	return nil
}

// replay plays the sample once for each list of reductions.
func (s *shrinker) replay(ctx context.Context, whole *sample.Sample, reductions [][]sample.Reduction) ([]*Disagreement, error) {
	var samples []*sample.Sample
	for _, list := range reductions {
		samples = append(samples, whole.Reduce(list...))
	}
	return s.play(ctx, samples)
}
