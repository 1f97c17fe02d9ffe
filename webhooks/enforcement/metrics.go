package enforcement

import "github.com/prometheus/client_golang/prometheus"

// enforced tells which configurations are in force.
type enforced struct{ *prometheus.GaugeVec }

func newEnforced() *enforced {
	return &enforced{prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "teamspace_webhooks_in_force",
		Help: "1 if the webhook configuration is there and each of its webhooks has its rules.",
	}, []string{"configuration"})}
}

func (e *enforced) set(found []configuration) {
	values := map[string]float64{validatingKind: 0, mutatingKind: 0}
	for _, c := range found {
		if c.settled(false) {
			values[c.kind] = 1
		}
	}
	for kind, value := range values {
		e.WithLabelValues(kind).Set(value)
	}
}
