package oracle

import (
	"context"
	"time"
)

func (l *lab) shrinkAll(ctx context.Context, all []*Disagreement, within time.Duration) error {
	return nil
}
