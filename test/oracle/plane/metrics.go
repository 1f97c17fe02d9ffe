package plane

import (
	"bufio"
	"context"
	"errors"
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

// Work is what kube-controller-manager has before it.
type Work struct {
	// Queued is how many objects are in the queues of the collector and of the namespace
	// controller. What waits for its next try is in no queue.
	Queued float64
	// Unfinished is for how many seconds their workers have been busy with what they
	// have, all together.
	Unfinished float64
}

// errNoQueues is the error of a kube-controller-manager whose controllers have not begun.
var errNoQueues = errors.New("the collector has no queues yet")

// Work asks kube-controller-manager what it has before it.
func (p *Plane) Work(ctx context.Context) (Work, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.metrics.url, nil)
	if err != nil {
		return Work{}, err
	}
	response, err := p.metrics.client.Do(request)
	if err != nil {
		return Work{}, fmt.Errorf("asking the collector whether it has work: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return Work{}, fmt.Errorf("asking the collector whether it has work: %s", response.Status)
	}
	return readWork(response.Body)
}

// readWork reads metrics in their text form.
func readWork(metrics io.Reader) (Work, error) {
	var w Work
	queues := 0
	lines := bufio.NewScanner(metrics)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), "} ")
		sum := w.field(name)
		if sum == nil {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return w, fmt.Errorf("reading the metric %s: %w", name, err)
		}
		*sum += n
		queues++
	}
	if err := lines.Err(); err != nil {
		return w, fmt.Errorf("reading metrics: %w", err)
	}
	if queues == 0 {
		return w, errNoQueues
	}
	return w, nil
}

// field returns what a metric is added to, nil if it does not tell of work.
func (w *Work) field(metric string) *float64 {
	of, queue, _ := strings.Cut(metric, `{name="`)
	switch {
	case !strings.HasPrefix(queue, "garbage_collector") && !strings.HasPrefix(queue, "namespace"):
		return nil
	case of == "workqueue_depth":
		return &w.Queued
	case of == "workqueue_unfinished_work_seconds":
		return &w.Unfinished
	default:
		return nil
	}
}
