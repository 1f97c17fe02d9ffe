package api

import (
	"context"
	"testing"

	"labhub.io/teamspace/test/world"
)

// lab has the type and no manager.
var lab = &world.Shared{Prepare: func(w *world.World) error {
	return w.StopForGood(context.Background(), world.Manager) //nolint:forbidigo // there is no test yet whose context it could be
}}

func TestMain(m *testing.M) { lab.Run(m) }
