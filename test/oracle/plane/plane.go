// Package plane runs the real control plane of the sandbox for the proofs of the
// ownership rules, and controls its collector: it can be stopped and started, made to
// stand still, and asked whether it has work.
//
// Of kube-controller-manager only the collector, the namespace controller and what
// every namespace gets run, so that nothing else touches the objects, and it may send
// as many requests as it likes. Neither changes what the collector decides.
package plane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	module       = "labhub.io/teamspace"
	startTimeout = 2 * time.Minute
	stopTimeout  = 20 * time.Second
	pollInterval = 50 * time.Millisecond
)

// ErrNotBuilt is the error of a tree in which `make sandbox` has not been run.
var ErrNotBuilt = errors.New("bin/sandbox is missing: run `make sandbox` first")

// Plane is a running control plane.
type Plane struct {
	// Config is the administrator's access, without a limit of its own.
	Config *rest.Config

	dir     string
	scratch string
	sandbox string
	process *process
	metrics *metricsClient
	paused  int
}

// Flags are the flags of kube-controller-manager for a plane on which nothing but
// ownership happens.
func Flags() []string { return Slow(1000) }

// Slow returns the same flags for a collector that may send so many requests in a
// second. It needs two or three to delete an object, and gets twice as many.
func Slow(requests int) []string {
	return []string{
		"controllers=garbage-collector-controller,namespace-controller," +
			"serviceaccount-controller,root-ca-certificate-publisher-controller",
		fmt.Sprintf("kube-api-qps=%d", requests),
		fmt.Sprintf("kube-api-burst=%d", 2*requests),
	}
}

// Start starts a control plane with the given flags of kube-controller-manager. If it
// fails, what was started is stopped.
func Start(ctx context.Context, flags ...string) (*Plane, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	p := &Plane{sandbox: filepath.Join(root, "bin", "sandbox")}
	if _, err := os.Stat(p.sandbox); err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrNotBuilt, err)
	}
	if p.scratch, err = os.MkdirTemp("", "teamspace-oracle-"); err != nil {
		return nil, err
	}
	p.dir = filepath.Join(p.scratch, "sandbox")
	if err := p.start(ctx, flags); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Plane) start(ctx context.Context, flags []string) error {
	args := []string{"up", "--dir=" + p.dir}
	for _, flag := range flags {
		args = append(args, "--controller-manager-flag="+flag)
	}
	var err error
	if p.process, err = run(p.sandbox, args...); err != nil {
		return err
	}
	if err := p.process.awaitFile(ctx, filepath.Join(p.dir, "ready"), startTimeout); err != nil {
		return err
	}
	p.Config, err = clientcmd.BuildConfigFromFlags("", filepath.Join(p.dir, "kubeconfig"))
	if err != nil {
		return fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	p.Config.QPS = -1
	p.Config.WarningHandler = rest.NoWarnings{}
	p.metrics, err = p.newMetricsClient(ctx)
	return err
}

// Close stops the control plane and removes what it has left. A plane that was not
// wholly started can be closed, and one that is closed already.
func (p *Plane) Close() error {
	var errs []error
	if p.process != nil {
		errs = append(errs, p.Resume(), p.process.stop(stopTimeout))
		p.process = nil
	}
	return errors.Join(append(errs, os.RemoveAll(p.scratch))...)
}

// findRoot looks upwards for the folder of the shipped module.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && declaresModule(string(text)) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no folder above this one has the go.mod of %s", module)
		}
	}
}

func declaresModule(goMod string) bool {
	for line := range strings.Lines(goMod) {
		if strings.TrimSpace(line) == "module "+module {
			return true
		}
	}
	return false
}
