// Package dev puts the product on top of a control plane: it applies what the
// chart renders, and runs the manager as a process in the place of each
// Deployment, with the ServiceAccount and the permissions that the chart gives
// to its pods.
package dev

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"labhub.io/teamspace/sandbox/chart"
	"labhub.io/teamspace/sandbox/cluster"
	"labhub.io/teamspace/sandbox/directory"
	"labhub.io/teamspace/sandbox/kubeconfig"
	"labhub.io/teamspace/sandbox/port"
	"labhub.io/teamspace/sandbox/process"
)

// Manager is the name of the component that stands for all Deployments.
const Manager = "manager"

const (
	releaseName = "teamspace"
	// managerGrace leaves room for the second that a manager may go on serving
	// after the signal, within the five that its stop may take.
	managerGrace = 4 * time.Second
	// lameDuck is that second. Nothing has to learn here that a manager stops.
	lameDuck = "1s"
	// managerStartTimeout covers the lease of a manager that was killed.
	managerStartTimeout = 60 * time.Second
	// tokenLifetime is longer than anybody runs a sandbox.
	tokenLifetime = 365 * 24 * time.Hour
)

// Options are the choices that a user has.
type Options struct {
	// Chart is the chart's folder, Manager the binary.
	Chart, Manager string
	// Archive is the URL that the manager archives to; empty leaves it to the
	// chart.
	Archive string
	// Namespace is the release's.
	Namespace string
	// ValueFiles and Set change the chart's values.
	ValueFiles, Set []string
}

// Check returns an error if the chart or the manager is missing: it is better
// to know that before a control plane is started for them.
func (o Options) Check() error {
	if info, err := os.Stat(o.Manager); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("the manager's binary %s is missing: `make build` builds it", o.Manager)
	}
	if _, err := os.Stat(o.Chart); err != nil {
		return fmt.Errorf("finding the chart: %w", err)
	}
	return nil
}

// Server is an API server as others are told of it.
type Server struct {
	URL string
	CA  []byte
}

// Product is the chart on a control plane.
type Product struct {
	options Options
	dir     *directory.Directory
	server  Server
	cluster *cluster.Client

	manifests *chart.Manifests
	picker    *port.Picker
}

// New prepares the product for a control plane that need not run yet. The
// administrator's access is used for what helm would do, and to see whether
// the product serves; the manager has its own.
func New(dir *directory.Directory, server Server, admin *rest.Config, options Options) (*Product, error) {
	client, err := cluster.New(admin)
	if err != nil {
		return nil, err
	}
	if options.Manager, err = filepath.Abs(options.Manager); err != nil {
		return nil, fmt.Errorf("finding the manager's binary: %w", err)
	}
	if err := makeArchive(options.Archive); err != nil {
		return nil, err
	}
	return &Product{options: options, dir: dir, server: server, cluster: client, picker: port.NewPicker()}, nil
}

// makeArchive makes the folder of an archive that is one. The manager refuses
// to make it later, because it may be a volume that is not mounted.
func makeArchive(archive string) error {
	if archive == "" {
		return nil
	}
	u, err := url.Parse(archive)
	if err != nil {
		return fmt.Errorf("reading the URL of the archive: %w", err)
	}
	if u.Scheme != "file" {
		return nil
	}
	if u.Path == "" || u.Host != "" {
		return fmt.Errorf("the URL %q of the archive names no folder: it has to look like file:///tmp/archive", archive)
	}
	if err := os.MkdirAll(u.Path, 0o755); err != nil {
		return fmt.Errorf("making the folder of the archive: %w", err)
	}
	return nil
}

// Install renders the chart for the cluster and applies everything but the
// Deployments. It returns when the chart's own kinds are served.
func (p *Product) Install(ctx context.Context) error {
	release, err := p.release()
	if err != nil {
		return err
	}
	if p.manifests, err = chart.Render(p.options.Chart, release); err != nil {
		return err
	}
	if len(p.manifests.Deployments) == 0 {
		return fmt.Errorf("the chart %s renders no Deployment: there is no manager to run", p.options.Chart)
	}
	if err := p.cluster.Apply(ctx, cluster.Namespace(p.options.Namespace)); err != nil {
		return err
	}
	if err := p.cluster.ApplyCRDs(ctx, p.manifests.CRDs); err != nil {
		return err
	}
	if err := p.cluster.Apply(ctx, p.manifests.Objects...); err != nil {
		return err
	}
	// No manager runs now. One of an earlier sandbox that was killed has left
	// its Lease, which would keep the next one waiting until it expires.
	return p.cluster.DeleteLeases(ctx, p.options.Namespace)
}

// release is what the chart is rendered as.
func (p *Product) release() (chart.Release, error) {
	version, err := p.cluster.Version()
	if err != nil {
		return chart.Release{}, err
	}
	apis, err := p.cluster.APIs()
	if err != nil {
		return chart.Release{}, err
	}
	service, err := p.serviceValues()
	if err != nil {
		return chart.Release{}, err
	}
	return chart.Release{
		Name: releaseName, Namespace: p.options.Namespace,
		ValueFiles: p.options.ValueFiles, Set: append(service, p.options.Set...),
		KubeVersion: version, APIs: apis,
	}, nil
}

// Programs defines the processes, one for each Deployment. Install has to be
// done.
func (p *Product) Programs(ctx context.Context) ([]process.Definition, error) {
	log, err := p.dir.Log(Manager)
	if err != nil {
		return nil, err
	}
	var all []process.Definition
	for _, deployment := range p.manifests.Deployments {
		name := Manager
		if len(p.manifests.Deployments) > 1 {
			name += "/" + deployment.Name
		}
		run, err := programOf(deployment, p.options.Namespace)
		if err != nil {
			return nil, err
		}
		if address := p.webhookAddress(deployment); address != "" {
			run.args = append(run.args, "--webhook-bind-address="+address)
		}
		config, err := p.access(ctx, deployment.Name, run.account)
		if err != nil {
			return nil, err
		}
		d, err := p.define(name, run, config)
		if err != nil {
			return nil, err
		}
		d.Log = log
		all = append(all, d)
	}
	return all, nil
}

// access writes a kubeconfig with a token of the ServiceAccount, and returns
// its path.
func (p *Product) access(ctx context.Context, deployment, account string) (string, error) {
	token, err := p.cluster.Token(ctx, p.options.Namespace, account, tokenLifetime)
	if err != nil {
		return "", err
	}
	path := p.dir.Path(deployment + ".kubeconfig")
	user := "system:serviceaccount:" + p.options.Namespace + ":" + account
	return path, kubeconfig.Config{
		Server: p.server.URL, CA: p.server.CA, User: user, Token: token, Namespace: p.options.Namespace,
	}.Write(path)
}

// define says how one process is run. The flags that fit it to this machine
// come last, where they win over the chart's.
func (p *Product) define(name string, run program, config string) (process.Definition, error) {
	health, err := p.picker.Free()
	if err != nil {
		return process.Definition{}, err
	}
	metrics, err := p.picker.Free()
	if err != nil {
		return process.Definition{}, err
	}
	args := append(run.args,
		"--kubeconfig="+config,
		"--health-probe-bind-address="+health,
		"--metrics-bind-address="+metrics,
	)
	if _, lingers := run.flag("lame-duck"); lingers {
		args = append(args, "--lame-duck="+lameDuck)
	}
	if _, archives := run.flag("archive"); archives && p.options.Archive != "" {
		args = append(args, "--archive="+p.options.Archive)
	}
	return process.Definition{
		Name: name, Path: p.options.Manager, Args: args, Env: run.environment(),
		Addresses:    map[string]string{"health": health, "metrics": metrics},
		Grace:        managerGrace,
		StartTimeout: managerStartTimeout,
		Ready:        p.readiness(health, run.electsLeader()),
		Backoff:      &process.Backoff{First: time.Second, Longest: 10 * time.Second, Steady: time.Minute},
	}, nil
}

// errNoLease is what a manager waits for that is ready but does not lead.
var errNoLease = errors.New("the manager does not hold its Lease yet")

// readiness returns a probe that succeeds when the process is ready and, if it
// has to lead before it reconciles, leads.
func (p *Product) readiness(health string, elects bool) func(context.Context, time.Time) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return func(ctx context.Context, started time.Time) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+health+"/readyz", nil)
		if err != nil {
			return fmt.Errorf("probing the manager: %w", err)
		}
		response, err := client.Do(request)
		if err != nil {
			return fmt.Errorf("probing the manager: %w", err)
		}
		_ = response.Body.Close() // nothing of it is read
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("probing the manager: /readyz says %s", response.Status)
		}
		if !elects {
			return nil
		}
		taken, err := p.cluster.LeaseTakenSince(ctx, p.options.Namespace, started)
		if err == nil && !taken {
			err = errNoLease
		}
		return err
	}
}
