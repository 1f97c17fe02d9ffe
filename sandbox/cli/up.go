package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"labhub.io/teamspace/sandbox/controlplane"
	"labhub.io/teamspace/sandbox/directory"
	"labhub.io/teamspace/sandbox/node"
	"labhub.io/teamspace/sandbox/process"
	"labhub.io/teamspace/sandbox/world"
)

// planeOptions are the flags of every command that runs a control plane.
type planeOptions struct {
	dir                                 string
	port                                int
	auditPolicy, auditLog               string
	etcdFlags, apiServerFlags, kcmFlags []string
	// network is not a flag: it follows from the command.
	network controlplane.Network
}

// addTo declares the flags.
func (o *planeOptions) addTo(cmd *cobra.Command) {
	requireDir(cmd, &o.dir)
	flags := cmd.Flags()
	flags.IntVar(&o.port, "port", 0, "the port of kube-apiserver on 127.0.0.1 (0: a free one)")
	flags.StringVar(&o.auditPolicy, "audit-policy", "", "an audit policy for kube-apiserver; without one nothing is audited")
	flags.StringVar(&o.auditLog, "audit-log", "", "the file of the audit log (default DIR/audit.log)")
	addComponentFlags(flags, &o.etcdFlags, "etcd-flag", controlplane.Etcd)
	addComponentFlags(flags, &o.apiServerFlags, "apiserver-flag", controlplane.APIServer)
	addComponentFlags(flags, &o.kcmFlags, "controller-manager-flag", controlplane.ControllerManager)
}

// addComponentFlags declares the flag that passes flags on to a component.
func addComponentFlags(flags *pflag.FlagSet, values *[]string, name, component string) {
	flags.StringArrayVar(values, name, nil, fmt.Sprintf("a flag of %s as name=value, instead of what the sandbox sets; repeatable", component))
}

// prepare takes hold of the directory and prepares the control plane.
func (o *planeOptions) prepare() (*directory.Directory, *controlplane.Plane, error) {
	if err := o.check(); err != nil {
		return nil, nil, err
	}
	folder, err := binaries()
	if err != nil {
		return nil, nil, err
	}
	options := controlplane.Options{
		Binaries: folder, Port: o.port, Network: o.network,
		Flags: map[string][]string{
			controlplane.Etcd:              o.etcdFlags,
			controlplane.APIServer:         o.apiServerFlags,
			controlplane.ControllerManager: o.kcmFlags,
		},
	}
	// The components run in the same working directory, but their errors are
	// easier to understand with a path that can be looked at from anywhere.
	if options.AuditPolicy, err = absolute(o.auditPolicy); err != nil {
		return nil, nil, err
	}
	if options.AuditLog, err = absolute(o.auditLog); err != nil {
		return nil, nil, err
	}
	dir, err := directory.Acquire(o.dir)
	if err != nil {
		return nil, nil, err
	}
	plane, err := controlplane.Prepare(dir, options)
	if err != nil {
		dir.Release()
		return nil, nil, err
	}
	return dir, plane, nil
}

// check refuses flags that make no sense.
func (o *planeOptions) check() error {
	if err := checkDir(o.dir); err != nil {
		return err
	}
	if o.port < 0 || o.port > 65535 {
		return usageError{fmt.Errorf("--port=%d is no port: it has to be between 1 and 65535, or 0", o.port)}
	}
	if o.auditLog != "" && o.auditPolicy == "" {
		return usageError{errors.New("--audit-log needs --audit-policy: without a policy nothing is audited")}
	}
	return nil
}

// absolute is the absolute form of a path; that of none is none.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding the file %q: %w", path, err)
	}
	return abs, nil
}

// newUp returns the command that runs a control plane.
func newUp(hurry <-chan struct{}) *cobra.Command {
	var o planeOptions
	var withNode bool
	var images []string
	cmd := &cobra.Command{
		Use:   "up --dir DIR",
		Short: "Run a control plane in the foreground",
		Long: `Starts etcd, kube-apiserver and kube-controller-manager and stays in the
foreground. Once all of it serves, DIR/kubeconfig is an administrator's and the
empty file DIR/ready is there. SIGINT or SIGTERM ends all of it within ten
seconds; a second signal does not wait for a clean end.

With --node also a real node: containerd, kubelet, kube-scheduler, kube-proxy and
what enforces NetworkPolicies,
in namespaces of their own, which go with the sandbox. That needs Linux and root,
and installs Debian packages that are missing. The API server then has an address
of the node instead of loopback, which only this machine reaches.

The same directory can be used again: data and certificates are kept in it, and
of a node the images and the pods.`,
		Example: `  sandbox up --dir /tmp/sandbox

  # Count the requests of a user.
  sandbox up --dir /tmp/sandbox --audit-policy policy.yaml --audit-log /tmp/audit.log

  # With a node that has an image, made with no registry.
  sandbox image --binary bin/manager --name labhub.io/teamspace/manager:0.1.0 --output manager.tar
  sandbox up --dir /tmp/sandbox --node --image manager.tar

  # A garbage collector with more workers.
  sandbox up --dir /tmp/sandbox --controller-manager-flag concurrent-gc-syncs=50`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case len(images) > 0 && !withNode:
				return usageError{errors.New("--image needs --node: without a node nothing runs an image")}
			case withNode && !node.Inside():
				return enterNode(cmd, o, hurry)
			case withNode:
				return runWithNode(cmd, o, images, hurry)
			}
			dir, plane, err := o.prepare()
			if err != nil {
				return err
			}
			defer dir.Release()
			config := planeConfig(dir, plane, cmd.ErrOrStderr())
			config.Hurry = hurry
			return world.Run(cmd.Context(), config)
		},
	}
	o.addTo(cmd)
	cmd.Flags().BoolVar(&withNode, "node", false, "with a real node, on Linux as root")
	cmd.Flags().StringArrayVar(&images, "image", nil, "an archive of an image that the node has from the start; repeatable")
	return cmd
}

// planeConfig is a world that is a control plane and no more.
func planeConfig(dir *directory.Directory, plane *controlplane.Plane, narration io.Writer) world.Config {
	return world.Config{
		Directory: dir,
		Narrator:  world.NewNarrator(narration),
		Components: []world.Component{
			{Name: controlplane.Etcd, Define: one(plane.Etcd)},
			{Name: controlplane.APIServer, Define: one(plane.APIServer)},
			{Name: controlplane.ControllerManager, Define: one(plane.ControllerManager)},
		},
		Serving: plane.Serving,
		Finish:  func(context.Context) error { return plane.WriteAdminKubeconfig(dir.Kubeconfig()) },
	}
}

// one makes a definition of a component out of one of a program.
func one(define func() process.Definition) func(context.Context) ([]process.Definition, error) {
	return func(context.Context) ([]process.Definition, error) {
		return []process.Definition{define()}, nil
	}
}

// noArgs refuses arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("`%s` takes no arguments, but there is %q", cmd.CommandPath(), args[0])}
	}
	return nil
}
