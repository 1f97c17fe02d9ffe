package replica

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"labhub.io/teamspace/test/program"
	"labhub.io/teamspace/test/world"
)

// grace is longer than any lame-duck period of a test and what a clean stop takes.
const grace = 30 * time.Second

// Options of a replica.
type Options struct {
	// Controllers makes it one that serves TeamSpaces; otherwise it serves the webhooks.
	Controllers bool

	// Address is where it serves the webhooks.
	Address string

	// Kubeconfig is whose credentials it uses; empty for those that the sandbox made for
	// the ServiceAccount of its Deployment.
	Kubeconfig string

	// Flags are further flags of `manager run`.
	Flags []string
}

// Replica is a process of the manager.
type Replica struct {
	// Address is where it serves the webhooks, Health and Metrics where the rest is.
	Address, Health, Metrics string

	program *program.Program
	stopped bool
}

// Start starts a replica, and ends it with the test.
func Start(t testing.TB, w *world.World, o Options) *Replica {
	t.Helper()
	root, err := program.Root()
	if err != nil {
		t.Fatal(err)
	}
	path, err := program.Find(root, "manager")
	if err != nil {
		t.Fatal(err)
	}
	r := &Replica{Address: o.Address, Health: Free(t, "127.0.0.1"), Metrics: Free(t, "127.0.0.1")}
	part, account := "--webhooks", "teamspace-webhook"
	if o.Controllers {
		part, account = "--controllers", "teamspace-controller"
	} else {
		o.Flags = append([]string{"--webhook-bind-address=" + o.Address}, o.Flags...)
	}
	if o.Kubeconfig == "" {
		o.Kubeconfig = filepath.Join(w.Dir, account+".kubeconfig")
	}
	args := append([]string{
		"run", part, "--kubeconfig=" + o.Kubeconfig, "--release-namespace=" + world.ReleaseNamespace,
		"--health-probe-bind-address=" + r.Health, "--metrics-bind-address=" + r.Metrics,
	}, o.Flags...)
	if r.program, err = program.Run(path, args...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the replica at %s said:\n%s", r.Health, tail(r.program.Output()))
		}
		if !r.stopped {
			r.Kill(t)
		}
	})
	return r
}

// tail keeps the log of a failed test readable: no verdicts and no probes, of which there
// are thousands, and no line to its end.
func tail(text string) string {
	const lines, width = 40, 400
	var kept []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "Judged owner references") && !strings.Contains(line, "healthz check failed") {
			kept = append(kept, strings.TrimSpace(line[:min(len(line), width)]))
		}
	}
	return strings.Join(kept[max(0, len(kept)-lines):], "\n")
}

// Free returns an address at which nothing listens, with a port that no outgoing
// connection gets.
func Free(t testing.TB, host string) string {
	t.Helper()
	for range 100 {
		address := net.JoinHostPort(host, strconv.Itoa(20000+rand.IntN(12000)))
		if listener, err := net.Listen("tcp", address); err == nil {
			_ = listener.Close() // it is only about the address
			return address
		}
	}
	t.Fatalf("no free port at %s", host)
	return ""
}

// Ready returns an error unless the replica says that it is ready.
func (r *Replica) Ready() error {
	text, code, err := r.get("http://" + r.Health + "/readyz?verbose")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("/readyz says %d:\n%s", code, text)
	}
	return err
}

// Alive returns an error unless the replica says that it need not be restarted.
func (r *Replica) Alive() error {
	text, code, err := r.get("http://" + r.Health + "/healthz")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("/healthz says %d:\n%s", code, text)
	}
	return err
}

var probes = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func (r *Replica) get(url string) (text string, code int, err error) {
	response, err := probes.Get(url)
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), response.StatusCode, err
}

// AwaitReady waits until the replica is ready.
func (r *Replica) AwaitReady(t testing.TB) {
	t.Helper()
	world.Eventually(t, 2*world.Patience, "the replica is ready", r.Ready)
}

// Metric returns the sum of all series of a metric that have these labels, each written
// as name="value", and whether there is one.
func (r *Replica) Metric(t testing.TB, name string, labels ...string) (sum float64, found bool) {
	t.Helper()
	page, err := r.MetricsPage()
	if err != nil {
		t.Fatal(err)
	}
	return Sum(t, page, name, labels...)
}

// MetricsPage is all metrics of the replica. While it starts, and when it has ended, there
// is no such page.
func (r *Replica) MetricsPage() (string, error) {
	page, _, err := r.get("http://" + r.Metrics + "/metrics")
	if err != nil {
		return "", fmt.Errorf("reading the metrics: %w", err)
	}
	return page, nil
}

// Sum reads a metric off a page of metrics.
func Sum(t testing.TB, page, name string, labels ...string) (sum float64, found bool) {
	t.Helper()
	for line := range strings.Lines(page) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), name)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' || !containsAll(rest, labels) {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			t.Fatalf("reading the metric %q: %v", line, err)
		}
		sum, found = sum+value, true
	}
	return sum, found
}

func containsAll(text string, all []string) bool {
	for _, one := range all {
		if !strings.Contains(text, one) {
			return false
		}
	}
	return true
}

// Leaf returns the certificate that the replica presents.
func (r *Replica) Leaf() (*x509.Certificate, error) {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	connection, err := tls.DialWithDialer(dialer, "tcp", r.Address, &tls.Config{InsecureSkipVerify: true}) // what it is, is asked here
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0], nil
}

// PID is the process of the replica.
func (r *Replica) PID() int { return r.program.PID() }

// Output is what the replica has logged.
func (r *Replica) Output() string { return r.program.Output() }

// Ended is closed when the process has ended.
func (r *Replica) Ended() <-chan struct{} { return r.program.Ended() }

// Signal sends a signal.
func (r *Replica) Signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := r.program.Signal(signal); err != nil {
		t.Errorf("sending %s: %v", signal, err)
	}
}

// Terminate asks the replica to end.
func (r *Replica) Terminate(t testing.TB) {
	t.Helper()
	r.stopped = true
	r.Signal(t, syscall.SIGTERM)
}

// AwaitEnd waits until the replica has ended.
func (r *Replica) AwaitEnd(t testing.TB) {
	t.Helper()
	select {
	case <-r.program.Ended():
	case <-time.After(grace):
		t.Fatalf("the replica has not ended within %s", grace)
	}
}

// Stop ends the replica cleanly, and returns when it is gone.
func (r *Replica) Stop(t testing.TB) {
	t.Helper()
	r.Terminate(t)
	r.AwaitEnd(t)
}

// Kill ends the replica at once.
func (r *Replica) Kill(t testing.TB) {
	t.Helper()
	r.stopped = true
	select {
	case <-r.program.Ended():
		return
	default:
	}
	r.Signal(t, syscall.SIGKILL)
	r.AwaitEnd(t)
}

// Memory is how much of the machine's memory the process holds, in bytes, where the
// system tells that.
func (r *Replica) Memory(t testing.TB) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", r.PID()))
	if err != nil {
		t.Fatalf("reading how much memory the replica holds: %v", err)
	}
	fields := strings.Fields(string(text))
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
