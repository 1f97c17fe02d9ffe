package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"labhub.io/teamspace/sandbox/controlplane"
	"labhub.io/teamspace/sandbox/dev"
	"labhub.io/teamspace/sandbox/directory"
	"labhub.io/teamspace/sandbox/world"
)

// newDev returns the command that runs a control plane with the product.
func newDev(hurry <-chan struct{}) *cobra.Command {
	var plane planeOptions
	var product dev.Options
	cmd := &cobra.Command{
		Use:   "dev --dir DIR",
		Short: "Run a control plane with TeamSpace in the foreground",
		Long: `Starts a control plane, applies what the chart renders, and runs the manager as
a supervised process in the place of the chart's Deployments, with their
ServiceAccount and permissions. Stays in the foreground; once a TeamSpace would
be served, a wrong owner reference be denied and the policies hold,
DIR/kubeconfig is an administrator's and the empty file DIR/ready is there. The
manager is one more component for stop, start and restart; when one of its
processes ends by itself it is started again after one to ten seconds.`,
		Example: `  sandbox dev --dir /tmp/teamspace
  sandbox dev --dir /tmp/teamspace --archive file:///tmp/archive

  # A change that is made while the manager is away.
  sandbox stop --dir /tmp/teamspace manager
  kubectl --kubeconfig /tmp/teamspace/kubeconfig delete teamspace alpha --wait=false
  sandbox start --dir /tmp/teamspace manager`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDev(cmd.Context(), plane, product, cmd.ErrOrStderr(), hurry)
		},
	}
	plane.addTo(cmd)
	addProductFlags(cmd, &product)
	return cmd
}

// addProductFlags declares the flags of every command that runs the product.
func addProductFlags(cmd *cobra.Command, o *dev.Options) {
	flags := cmd.Flags()
	flags.StringVar(&o.Chart, "chart", "charts/teamspace", "the chart's folder")
	flags.StringVar(&o.Manager, "manager", "bin/manager", "the manager's binary")
	flags.StringVar(&o.Archive, "archive", "", "where the manager archives to, such as file:///tmp/archive (default: as the chart says)")
	flags.StringVarP(&o.Namespace, "namespace", "n", "teamspace-system", "the namespace of the release")
	flags.StringArrayVarP(&o.ValueFiles, "values", "f", nil, "a file with values for the chart; repeatable")
	flags.StringArrayVar(&o.Set, "set", nil, "a value for the chart as key=value; repeatable")
}

// runDev runs a control plane with the product until ctx ends.
func runDev(ctx context.Context, o planeOptions, product dev.Options, narration io.Writer, hurry <-chan struct{}) error {
	if err := product.Check(); err != nil {
		return err
	}
	dir, plane, err := o.prepare()
	if err != nil {
		return err
	}
	defer dir.Release()
	config, err := devConfig(dir, plane, product, narration)
	if err != nil {
		return err
	}
	config.Hurry = hurry
	return world.Run(ctx, config)
}

// devConfig is the world of a control plane with the product on top. The chart
// is applied before kube-controller-manager starts: the garbage collector knows
// the chart's kinds from the beginning then, instead of half a minute later.
func devConfig(dir *directory.Directory, plane *controlplane.Plane, o dev.Options, narration io.Writer) (world.Config, error) {
	config := planeConfig(dir, plane, narration)
	server := dev.Server{URL: plane.URL(), CA: plane.CA()}
	product, err := dev.New(dir, server, plane.Admin(), o)
	if err != nil {
		return config, err
	}
	for i := range config.Components {
		if config.Components[i].Name == controlplane.ControllerManager {
			config.Components[i].Before = func(ctx context.Context) error {
				if err := product.Install(ctx); err != nil {
					return fmt.Errorf("installing the chart: %w", err)
				}
				config.Narrator.Say("the chart is applied, release teamspace in %s", o.Namespace)
				return nil
			}
		}
	}
	config.Components = append(config.Components, world.Component{Name: dev.Manager, Define: product.Programs})
	planeServes := config.Serving
	config.Serving = func(ctx context.Context) error { return errors.Join(planeServes(ctx), product.Serves(ctx)) }
	return config, nil
}
