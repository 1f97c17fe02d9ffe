package webhooks

import (
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	// durations has its buckets where an answer takes its time: some milliseconds as a
	// rule, and nothing above the three seconds after which nobody waits any more. Those
	// of the library are decades from 10 ns on.
	durations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "teamspace_webhook_duration_seconds",
		Help:    "How long a webhook took to answer a request that it judged.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 3},
	}, []string{"webhook"})

	sheds = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "teamspace_webhook_shed_total",
		Help: "Requests that a webhook answered with 503 at once, because it was judging as many as it may.",
	}, []string{"webhook"})
)

func registerMetrics() error {
	return errors.Join(metrics.Registry.Register(durations), metrics.Registry.Register(sheds))
}

// timed measures what is judged.
func timed(duration prometheus.Observer, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		next.ServeHTTP(w, r)
		duration.Observe(time.Since(began).Seconds())
	})
}
