package rules_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/ownership/rules"
)

// TestOutcome_TwinsMove is row R16: a strategic merge puts references with one uid side
// by side, and leaves the order of all others alone.
func TestOutcome_TwinsMove(t *testing.T) {
	s, err := ownershiptest.Parse("Secret c/p -> Secret r; ClusterWidget q; Secret r +b; Widget ghost\nClusterWidget q\nSecret c/r\ncreate Secret c/p")
	if err != nil {
		t.Fatal(err)
	}
	o := s.Predict().Outcome(0)
	all := s.Graph.Object(0).Owners
	for _, tc := range []struct {
		order []int
		want  bool
	}{{[]int{0, 1, 2}, true}, {[]int{0, 2, 1}, true}, {[]int{1, 0, 2}, false}, {[]int{2, 0, 1}, false}, {[]int{0, 1, 2, 3}, false}} {
		var owners []metav1.OwnerReference
		for _, i := range tc.order {
			owners = append(owners, all[i])
		}
		if got := o.Allows(rules.State{Exists: true, Owners: slices.Clone(owners)}); got != tc.want {
			t.Errorf("order %v: allowed %t, want %t", tc.order, got, tc.want)
		}
	}
}
