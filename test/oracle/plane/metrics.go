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

// Work is what kube-controller-manager has before it.
type Work struct {
	// Idle: the queues of the collector and of the namespace controller are empty, and
	// nobody works on what was in them. What waits for its next try is in no queue.
	Idle bool
	// Retries counts how often the collector has put something off. It does so ten
	// times a second at most, whatever it is; when it does it as often as that,
	// everything that it puts off waits for long.
	Retries float64
}

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

// sample is a line of the metrics that tells of work.
type sample struct {
	load  bool // the length of a queue, or how long somebody works at it
	value float64
}

// sampleOf reads a line; ok is false for one that tells nothing of the collector's work
// or of the namespace controller's.
func sampleOf(line string) (s sample, ok bool, err error) {
	name, value, valued := strings.Cut(line, "} ")
	of, queue, labelled := strings.Cut(name, `{name="`)
	if !valued || !labelled {
		return s, false, nil
	}
	collector := strings.HasPrefix(queue, "garbage_collector")
	s.load = of == "workqueue_depth" || of == "workqueue_unfinished_work_seconds"
	switch {
	case s.load && (collector || strings.HasPrefix(queue, "namespace")):
	case collector && of == "workqueue_retries_total":
	default:
		return s, false, nil
	}
	if s.value, err = strconv.ParseFloat(value, 64); err != nil {
		return s, false, fmt.Errorf("reading the metric %s: %w", name, err)
	}
	return s, true, nil
}

// readWork reads metrics in their text form.
func readWork(metrics io.Reader) (Work, error) {
	var w Work
	queues, busy := 0, false
	lines := bufio.NewScanner(metrics)
	for lines.Scan() {
		s, ok, err := sampleOf(lines.Text())
		if err != nil {
			return w, err
		}
		switch {
		case !ok:
		case !s.load:
			w.Retries += s.value
		default:
			queues++
			busy = busy || s.value > 0
		}
	}
	if err := lines.Err(); err != nil {
		return w, fmt.Errorf("reading metrics: %w", err)
	}
	w.Idle = queues > 0 && !busy
	return w, nil
}
