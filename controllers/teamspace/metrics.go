package teamspace

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"labhub.io/teamspace/api/v1alpha1"
)

// Causes of drift, as the label of a metric and as a word of an event.
const (
	causeDeleted = "deleted"
	causeEdited  = "edited"
)

func causeOf(found bool) string {
	if found {
		return causeEdited
	}
	return causeDeleted
}

var (
	driftRepairs = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "teamspace_drift_repairs_total",
		Help: "Writes that undid a change of somebody else, by kind of object and cause (deleted, edited).",
	}, []string{"kind", "cause"})

	driftRepairSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "teamspace_drift_repair_seconds",
		Help:    "Seconds from the moment a watch told of drift to its repair, by kind of object.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
	}, []string{"kind"})

	archiveWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "teamspace_archive_writes_total",
		Help: "Attempts to write an archive record, by result (success, failure).",
	}, []string{"result"})

	conditionsDesc = prometheus.NewDesc("teamspace_conditions",
		"TeamSpaces by type and status of their conditions.", []string{"type", "status"}, nil)

	terminatingDesc = prometheus.NewDesc("teamspace_namespaces_terminating",
		"Teams' namespaces that have been Terminating for longer than the threshold.", nil, nil)
)

func outcome(err error) string {
	if err != nil {
		return "failure"
	}
	return "success"
}

// registerMetrics registers the metrics once for a manager.
func registerMetrics(mgr ctrl.Manager, terminatingAfter time.Duration) error {
	gauges := &stateCollector{cache: mgr.GetCache(), elected: mgr.Elected(), after: terminatingAfter, clock: clock.RealClock{}}
	for _, collector := range []prometheus.Collector{driftRepairs, driftRepairSeconds, archiveWrites, gauges} {
		if err := metrics.Registry.Register(collector); err != nil {
			return err
		}
	}
	return nil
}

// stateCollector counts what the cache holds at the moment of a scrape. Only the
// leader reports, so that a sum over the replicas is right.
type stateCollector struct {
	cache   client.Reader
	elected <-chan struct{}
	after   time.Duration
	clock   clock.PassiveClock
}

// Describe implements prometheus.Collector.
func (c *stateCollector) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- conditionsDesc
	descriptions <- terminatingDesc
}

// Collect implements prometheus.Collector.
func (c *stateCollector) Collect(into chan<- prometheus.Metric) {
	select {
	case <-c.elected:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c.collectConditions(ctx, into)
	c.collectTerminating(ctx, into)
}

func (c *stateCollector) collectConditions(ctx context.Context, into chan<- prometheus.Metric) {
	var teamSpaces v1alpha1.TeamSpaceList
	if err := c.cache.List(ctx, &teamSpaces, client.UnsafeDisableDeepCopy); err != nil {
		into <- prometheus.NewInvalidMetric(conditionsDesc, err)
		return
	}
	type key struct{ conditionType, status string }
	counts := map[key]float64{}
	for i := range teamSpaces.Items {
		for _, condition := range teamSpaces.Items[i].Status.Conditions {
			counts[key{condition.Type, string(condition.Status)}]++
		}
	}
	for k, count := range counts {
		into <- prometheus.MustNewConstMetric(conditionsDesc, prometheus.GaugeValue, count, k.conditionType, k.status)
	}
}

func (c *stateCollector) collectTerminating(ctx context.Context, into chan<- prometheus.Metric) {
	namespaces := &metav1.PartialObjectMetadataList{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := c.cache.List(ctx, namespaces, client.HasLabels{v1alpha1.LabelTeamSpace}, client.UnsafeDisableDeepCopy); err != nil {
		into <- prometheus.NewInvalidMetric(terminatingDesc, err)
		return
	}
	var count float64
	for i := range namespaces.Items {
		deleted := namespaces.Items[i].DeletionTimestamp
		if !deleted.IsZero() && c.clock.Since(deleted.Time) > c.after {
			count++
		}
	}
	into <- prometheus.MustNewConstMetric(terminatingDesc, prometheus.GaugeValue, count)
}

// driftMeter remembers when a watch first told of a change in a team's namespace,
// until a pass takes it.
type driftMeter struct {
	mu      sync.Mutex
	noticed map[string]time.Time
	clock   clock.PassiveClock
}

func newDriftMeter(passive clock.PassiveClock) *driftMeter {
	return &driftMeter{noticed: map[string]time.Time{}, clock: passive}
}

func (m *driftMeter) note(teamSpace string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.noticed[teamSpace]; !ok {
		m.noticed[teamSpace] = m.clock.Now()
	}
}

func (m *driftMeter) take(teamSpace string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.noticed[teamSpace]
	delete(m.noticed, teamSpace)
	return at
}
