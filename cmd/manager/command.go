package main

import (
	"context"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "manager",
		Short: "Serve TeamSpaces, and guard owner references",
		Long: `manager has two parts, which run as processes of their own, with permissions of their
own: the controller serves TeamSpaces (platform.labhub.io/v1alpha1), and the webhook
judges every owner reference before the garbage collector does.`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	command.AddCommand(newRunCommand())
	return command
}

func newRunCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "run",
		Short: "Run one part of the manager until it is told to stop",
		Args:  cobra.NoArgs,
	}
	command.AddCommand(
		newPartCommand(newControllerOptions(), &cobra.Command{
			Use:   "controller",
			Short: "Give each TeamSpace its namespace with a quota",
			Long: `controller serves TeamSpaces until it gets SIGINT or SIGTERM: it gives each a namespace
with a quota, keeps both as declared, and archives a TeamSpace before it lets it go.
Then it gives its lease back, so that another one leads at once, and ends with 0.

Several may run at the same time; the one that holds the lease works.`,
			Example: `  # in a cluster, as the chart does
  manager run controller --archive=configmap://teamspace-archive

  # on a workstation, against the cluster of a kubeconfig
  manager run controller --kubeconfig=$HOME/.kube/config --release-namespace=default --archive=file:///tmp/archive --log-format=console`,
		}),
		newPartCommand(newWebhookOptions(), &cobra.Command{
			Use:   "webhook",
			Short: "Serve the admission webhooks",
			Long: `webhook serves the admission webhooks until it gets SIGINT or SIGTERM, and ends with 0:
the guard, which refuses owner references that the garbage collector would punish, and
those of TeamSpaces. It makes its certificate itself and gives the API server the
authority to trust.

Several may run at the same time, and all of them answer.`,
			Example: `  # in a cluster, as the chart does
  manager run webhook --webhook-service=teamspace-webhook --guard-mode=enforce`,
		}),
	)
	return command
}

// part is one of the processes of the manager.
type part interface {
	addFlags(flags *pflag.FlagSet)
	validate() error
	run(ctx context.Context) error
}

func newPartCommand(p part, command *cobra.Command) *cobra.Command {
	p.addFlags(command.Flags())
	command.Args = cobra.NoArgs
	command.RunE = func(command *cobra.Command, _ []string) error {
		if err := p.validate(); err != nil {
			return err
		}
		return p.run(command.Context())
	}
	return command
}

// version is what the build knows of itself.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
