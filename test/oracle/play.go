package oracle

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/rules"
	"labhub.io/teamspace/test/oracle/live"
	"labhub.io/teamspace/test/oracle/sample"
)

// patience is what every disagreement gets beside the time that the collector has been
// running: it puts off what it cannot do at once, and takes up ten such objects in a
// second.
const patience = 20 * time.Second

// play has samples go through their rounds, and returns what has become of them.
func (l *lab) play(ctx context.Context, samples []*sample.Sample) ([]*trial, error) {
	var trials []*trial
	rounds := 0
	for _, s := range samples {
		trials = append(trials, &trial{sample: s, space: l.newSpace()})
		rounds = max(rounds, len(s.Rounds))
	}
	defer func() { l.played = append(l.played, trials...) }()
	for round := range rounds {
		var still []*trial
		for _, t := range trials {
			if t.disagreement == nil && round < len(t.sample.Rounds) {
				still = append(still, t)
			}
		}
		if !busy(still, round) {
			continue
		}
		if err := l.round(ctx, still, round); err != nil {
			return nil, err
		}
	}
	return trials, nil
}

// busy reports whether anything happens in a round. In the first one and in the last,
// a collector starts.
func busy(trials []*trial, round int) bool {
	for _, t := range trials {
		r := t.sample.Rounds[round]
		if len(r.Steps) > 0 || r.Mode == sample.Down {
			return true
		}
	}
	return false
}

// round has all trials go through one round.
func (l *lab) round(ctx context.Context, trials []*trial, round int) error {
	mode := trials[0].sample.Rounds[round].Mode
	if err := l.enter(ctx, mode); err != nil {
		return err
	}
	if round == 0 {
		if err := l.clean(ctx); err != nil {
			return err
		}
	}
	before, err := l.cluster.List(ctx)
	if err != nil {
		return err
	}
	for _, t := range trials {
		t.begin(before, l.watch)
	}
	if err := l.steps(ctx, trials, round, mode); err != nil {
		return err
	}
	l.say("round %d: built, the collector was %s", round, mode)
	if err := l.leave(ctx, mode); err != nil {
		return err
	}
	return l.judge(ctx, trials, round, mode)
}

// clean removes what earlier graphs have left, for which the collector would go on
// retrying, while it is down.
func (l *lab) clean(ctx context.Context) error {
	all, err := l.cluster.List(ctx)
	if err != nil {
		return err
	}
	err = live.Each(l.played, func(_ int, t *trial) error { return t.space.Remove(ctx, all) })
	l.played = nil
	return err
}

// steps does what happens in the round and predicts what comes of it.
func (l *lab) steps(ctx context.Context, trials []*trial, round int, mode sample.Mode) error {
	err := live.Each(trials, func(_ int, t *trial) error {
		if round == 0 {
			if err := t.build(ctx); err != nil {
				return err
			}
			t.objects = t.sample.Objects
		}
		if err := t.do(ctx, t.sample.Rounds[round].Steps); err != nil {
			return err
		}
		if mode != sample.Down {
			t.predict(mode)
		}
		return t.delete(ctx)
	})
	if err != nil || mode != sample.Down {
		return err
	}
	left, err := l.cluster.List(ctx)
	if err != nil {
		return err
	}
	return live.Each(trials, func(_ int, t *trial) error {
		t.objects = t.space.Objects(left)
		t.predict(mode)
		return nil
	})
}

// judge waits until the collector has settled, and then for those that disagree, as
// long as it may still come back to them.
func (l *lab) judge(ctx context.Context, trials []*trial, round int, mode sample.Mode) error {
	if err := l.settle(ctx); err != nil {
		return err
	}
	waiting := unfinished(trials, l.watch.Objects())
	deadline := l.deadline()
	if len(waiting) > 0 {
		l.say("round %d: %d graphs are not there yet, waiting up to %s", round, len(waiting), time.Until(deadline).Round(time.Second))
	}
	for len(waiting) > 0 && time.Now().Before(deadline) {
		moved := l.watch.Quiet()
		if err := l.settle(ctx); err != nil {
			return err
		}
		if l.watch.Quiet() < moved {
			deadline = l.deadline() // what has happened may lead to more
		}
		waiting = unfinished(waiting, l.watch.Objects())
	}
	truth, err := l.cluster.List(ctx)
	if err != nil {
		return err
	}
	agreed := 0
	for _, t := range trials {
		if t.agrees(truth) {
			agreed++
			t.end(truth)
			continue
		}
		t.disagreement = newDisagreement(t, round, mode, func(uid types.UID) rules.State { return t.space.State(uid, truth) })
	}
	l.say("round %d: %d of %d graphs agree", round, agreed, len(trials))
	return nil
}

// deadline is when the collector has come back to everything once more: its pauses
// double, so that none is longer than it has been running.
func (l *lab) deadline() time.Time { return time.Now().Add(time.Since(l.started) + patience) }

func unfinished(trials []*trial, all live.Objects) []*trial {
	var list []*trial
	for _, t := range trials {
		if !t.agrees(all) {
			list = append(list, t)
		}
	}
	return list
}
