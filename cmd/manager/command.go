package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "manager",
		Short: "Serve TeamSpaces: a namespace with a quota for each team",
		Long: `manager serves TeamSpaces (platform.labhub.io/v1alpha1): it gives each a namespace
with a quota, keeps both as declared, and archives a TeamSpace before it lets it go. It
also serves the admission webhooks: those of TeamSpaces, and the guard that judges every
owner reference before the garbage collector does.`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	command.AddCommand(newRunCommand())
	return command
}

func newRunCommand() *cobra.Command {
	options := defaultOptions()
	command := &cobra.Command{
		Use:   "run",
		Short: "Run the manager until it is told to stop",
		Long: `run watches the cluster and serves TeamSpaces until it gets SIGINT or SIGTERM. Then it
gives its lease back, so that another manager leads at once, and ends with 0.

Several managers may run at the same time: the one that holds the lease keeps the
TeamSpaces, and all of them answer the webhooks.`,
		Example: `  # in a cluster, as the chart does
  manager run --archive=configmap://teamspace-archive

  # on a workstation, against the cluster of a kubeconfig
  manager run --kubeconfig=$HOME/.kube/config --release-namespace=default --archive=file:///tmp/archive --webhook-bind-address=0 --log-format=console`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := options.validate(); err != nil {
				return err
			}
			return run(command.Context(), options)
		},
	}
	options.addFlags(command.Flags())
	return command
}

// version is what the build knows of itself.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
