package ownerreferences

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var verdicts = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "teamspace_guard_verdicts_total",
	Help: "Requests that the guard judged, by mode and by what enforce would make of them (allowed, warned, denied).",
}, []string{"mode", "verdict"})

// RegisterMetrics registers the metrics of the guard once for a process.
func RegisterMetrics() error { return metrics.Registry.Register(verdicts) }
