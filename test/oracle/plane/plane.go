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
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"labhub.io/teamspace/test/program"
)

const (
	startTimeout = 2 * time.Minute
	stopTimeout  = 20 * time.Second
	pollInterval = 50 * time.Millisecond
)

// Plane is a running control plane.
type Plane struct {
	// Config is the administrator's access, without a limit of its own.
	Config *rest.Config

	dir     string
	scratch string
	sandbox string
	process *program.Program
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
	root, err := program.Root()
	if err != nil {
		return nil, err
	}
	p := &Plane{}
	if p.sandbox, err = program.Find(root, "sandbox"); err != nil {
		return nil, err
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
	if p.process, err = program.Run(p.sandbox, args...); err != nil {
		return err
	}
	if err := p.process.AwaitFile(ctx, filepath.Join(p.dir, "ready"), startTimeout); err != nil {
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

// Kubeconfig is the administrator's kubeconfig, for programs.
func (p *Plane) Kubeconfig() string { return filepath.Join(p.dir, "kubeconfig") }

// Close stops the control plane and removes what it has left. A plane that was not
// wholly started can be closed, and one that is closed already.
func (p *Plane) Close() error {
	var errs []error
	if p.process != nil {
		errs = append(errs, p.Resume(), p.process.Stop(stopTimeout))
		p.process = nil
	}
	return errors.Join(append(errs, os.RemoveAll(p.scratch))...)
}
