package main

import (
	"github.com/spf13/cobra"

	"labhub.io/teamspace/internal/version"
)

func newCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "manager",
		Short: "Serve TeamSpaces: a namespace with a quota for each team",
		Long: `manager serves TeamSpaces (platform.labhub.io/v1alpha1): it gives each a namespace
with a quota, keeps both as declared, and archives a TeamSpace before it lets it go. It
also serves the admission webhooks: those of TeamSpaces, and the guard that judges every
owner reference before the garbage collector does.`,
		Version:       version.Get(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	command.AddCommand(newRunCommand(), newDrainCommand(), newSelftestCommand())
	return command
}

func newRunCommand() *cobra.Command {
	options := defaultOptions()
	command := &cobra.Command{
		Use:   "run",
		Short: "Run the manager until it is told to stop",
		Long: `run watches the cluster until it gets SIGINT or SIGTERM. Then it gives its lease back, so
that another manager leads at once, and ends with 0.

It has two parts, which the chart runs as processes of their own, with permissions of
their own: --controllers gives each TeamSpace its namespace with a quota, --webhooks
serves the admission webhooks. Without either flag it does both.

Several managers may run at the same time: the one that holds the lease keeps the
TeamSpaces, and all of them answer the webhooks.`,
		Example: `  # in a cluster, as the chart does
  manager run --controllers --archive=configmap://teamspace-archive
  manager run --webhooks --webhook-service=teamspace-webhook --guard-mode=enforce

  # on a workstation, against the cluster of a kubeconfig
  manager run --controllers --kubeconfig=$HOME/.kube/config --release-namespace=default --archive=file:///tmp/archive --log-format=console`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			options.complete(command.Flags())
			if err := options.validate(); err != nil {
				return err
			}
			return run(command.Context(), options)
		},
	}
	options.addFlags(command.Flags())
	return command
}
