package plane

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// metricsClient reads the metrics of kube-controller-manager.
type metricsClient struct {
	url    string
	client *http.Client
}

const metricsTimeout = 10 * time.Second

// newMetricsClient uses the administrator's certificate, which the same authority
// has signed. The address outlives restarts.
func (p *Plane) newMetricsClient(ctx context.Context) (*metricsClient, error) {
	s, err := p.status(ctx)
	if err != nil {
		return nil, err
	}
	tls, err := rest.TLSConfigFor(p.Config)
	if err != nil {
		return nil, fmt.Errorf("reading the administrator's certificate: %w", err)
	}
	return &metricsClient{
		url: "https://" + s.Addresses["https"] + "/metrics",
		client: &http.Client{
			Timeout:   metricsTimeout,
			Transport: &http.Transport{TLSClientConfig: tls, DisableKeepAlives: true},
		},
	}, nil
}

// Idle reports whether the queues of the collector and of the namespace controller
// are empty and nobody works on what was in them. What waits for its next try is in no
// queue: an idle collector may still have something to do later.
func (p *Plane) Idle(ctx context.Context) (bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.metrics.url, nil)
	if err != nil {
		return false, err
	}
	response, err := p.metrics.client.Do(request)
	if err != nil {
		return false, fmt.Errorf("asking the collector whether it has work: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return false, fmt.Errorf("asking the collector whether it has work: %s", response.Status)
	}
	return idle(response.Body)
}

// idle reads metrics in their text form.
func idle(metrics io.Reader) (bool, error) {
	queues, busy := 0, false
	lines := bufio.NewScanner(metrics)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), "} ")
		if !ok || !ofQueue(name) {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return false, fmt.Errorf("reading the metric %s: %w", name, err)
		}
		queues++
		busy = busy || n > 0
	}
	if err := lines.Err(); err != nil {
		return false, fmt.Errorf("reading metrics: %w", err)
	}
	return queues > 0 && !busy, nil
}

func ofQueue(metric string) bool {
	of, queue, ok := strings.Cut(metric, `{name="`)
	if !ok || of != "workqueue_depth" && of != "workqueue_unfinished_work_seconds" {
		return false
	}
	return strings.HasPrefix(queue, "garbage_collector") || strings.HasPrefix(queue, "namespace")
}
