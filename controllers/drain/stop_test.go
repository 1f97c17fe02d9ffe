package drain

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestHolding(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	held := func(by string, renewed int) *coordinationv1.Lease {
		at := metav1.NewMicroTime(start.Add(time.Duration(renewed) * time.Hour)) // a clock that is none of ours
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &by, RenewTime: &at, LeaseDurationSeconds: new(int32(15))}}
	}
	type look struct {
		after int // seconds
		lease *coordinationv1.Lease
		want  string
	}
	tests := map[string][]look{
		"there is no lease":                      {{0, &coordinationv1.Lease{}, ""}},
		"it was given back":                      {{0, held("", 0), ""}},
		"its holder is believed at first":        {{0, held("a", 0), "a"}},
		"and as long as it renews":               {{0, held("a", 0), "a"}, {10, held("a", 1), "a"}, {20, held("a", 2), "a"}, {30, held("a", 2), "a"}},
		"not longer than the lease lasts":        {{0, held("a", 0), "a"}, {15, held("a", 0), "a"}, {16, held("a", 0), ""}},
		"another one takes it":                   {{0, held("a", 0), "a"}, {14, held("b", 1), "b"}, {28, held("b", 1), "b"}, {30, held("b", 1), ""}},
		"it is given back while somebody looks":  {{0, held("a", 0), "a"}, {1, held("", 1), ""}},
		"it is deleted while somebody looks":     {{0, held("a", 0), "a"}, {1, &coordinationv1.Lease{}, ""}},
		"the same holder comes back after a gap": {{0, held("a", 0), "a"}, {16, held("a", 0), ""}, {17, held("a", 1), "a"}},
	}
	for name, looks := range tests {
		t.Run(name, func(t *testing.T) {
			var h holding
			for _, l := range looks {
				now := start.Add(time.Duration(l.after) * time.Second)
				h = h.next(l.lease, now)
				if got := h.holder(now); got != l.want {
					t.Errorf("after %d s: held by %q, want %q", l.after, got, l.want)
				}
			}
		})
	}
}
