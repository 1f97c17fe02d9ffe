package rules_test

import (
	"testing"

	"labhub.io/teamspace/ownership/ownershiptest"
)

// TestGolden reads testdata/*.txt: one case for each row, named by its id, with
// the row in words, a graph, what happens to it, and what becomes of it.
func TestGolden(t *testing.T) {
	ownershiptest.Golden(t, "testdata/*.txt", func(s *ownershiptest.Scenario) string {
		return ownershiptest.Picture(s.Predict())
	})
}
