package chart

import (
	"testing"

	"labhub.io/teamspace/test/world"
)

var lab = &world.Shared{Options: world.Options{ChartArchive: true}}

func TestMain(m *testing.M) { lab.Run(m) }
