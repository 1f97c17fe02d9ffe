package certs

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// collectTimeout bounds the wait for a cache that has not caught up yet.
const collectTimeout = time.Second

var (
	expiry = prometheus.NewDesc("teamspace_certificate_expiry_seconds",
		"Seconds until the certificate expires that the webhooks serve, and until the newest authority does that is published with it; negative if it has.",
		[]string{"certificate"}, nil)
	trusted = prometheus.NewDesc("teamspace_certificate_trusted",
		"1 if every webhook configuration that is there trusts the certificate that is served.", nil, nil)
	renewable = prometheus.NewDesc("teamspace_certificate_renewable",
		"1 if the last pass could use the Secret of the certificate and write what it had to; the log says why not.", nil, nil)
)

// collector reads the state of a Keeper when it is asked, so that what the clock alone
// changes is right too.
type collector struct{ keeper *Keeper }

// Describe implements prometheus.Collector.
func (collector) Describe(into chan<- *prometheus.Desc) {
	into <- expiry
	into <- trusted
	into <- renewable
}

// Collect implements prometheus.Collector.
func (c collector) Collect(into chan<- prometheus.Metric) {
	k := c.keeper
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		into <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	if served := k.served.Load(); served != nil {
		now := k.clock.Now()
		gauge(expiry, served.certificate.Leaf.NotAfter.Sub(now).Seconds(), "served")
		if all := authorities(served.pair.CA); len(all) > 0 {
			gauge(expiry, all[0].NotAfter.Sub(now).Seconds(), "authority")
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	gauge(trusted, indicator(k.Trusted(ctx) == nil))
	gauge(renewable, indicator(k.problem.Load() == nil))
}

func indicator(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
