package api

import (
	"context"
	"testing"

	"labhub.io/teamspace/test/world"
)

// lab has the type and no manager.
var lab = &world.Shared{Prepare: func(ctx context.Context, w *world.World) error {
	return w.StopForGood(ctx, world.Manager)
}}

func TestMain(m *testing.M) { lab.Run(m) }
