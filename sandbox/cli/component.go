package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"labhub.io/teamspace/sandbox/control"
	"labhub.io/teamspace/sandbox/controlplane"
	"labhub.io/teamspace/sandbox/dev"
	"labhub.io/teamspace/sandbox/node"
)

// newStop returns the command that stops a component.
func newStop() *cobra.Command {
	var kill bool
	cmd := newCommand(control.Stop, &kill)
	cmd.Short = "Stop a component and return when it is gone"
	cmd.Long = `Sends SIGTERM to the component, SIGKILL after a while, and returns when its
process is gone. It stays stopped until it is started. To stop what is stopped
is no error.`
	cmd.Example = `  sandbox stop --dir /tmp/sandbox kube-controller-manager
  sandbox stop --dir /tmp/sandbox --kill etcd`
	cmd.Flags().BoolVar(&kill, "kill", false, "send SIGKILL at once")
	return cmd
}

// newStart returns the command that starts a component.
func newStart() *cobra.Command {
	cmd := newCommand(control.Start, new(false))
	cmd.Short = "Start a component and return when it serves"
	cmd.Long = `Starts the component on the ports that it had, and returns when it serves. To
start what runs is no error.`
	cmd.Example = `  sandbox start --dir /tmp/sandbox kube-controller-manager`
	return cmd
}

// newRestart returns the command that restarts a component.
func newRestart() *cobra.Command {
	var kill bool
	cmd := newCommand(control.Restart, &kill)
	cmd.Short = "Stop a component, start it, and return when it serves"
	cmd.Long = `Stops the component if it runs, starts it on the ports that it had, and returns
when it serves.`
	cmd.Example = `  sandbox restart --dir /tmp/sandbox kube-apiserver
  sandbox restart --dir /tmp/sandbox --kill kube-controller-manager`
	cmd.Flags().BoolVar(&kill, "kill", false, "send SIGKILL at once instead of SIGTERM")
	return cmd
}

// newCommand returns a command that asks a running sandbox for an action.
func newCommand(action control.Action, kill *bool) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: string(action) + " --dir DIR COMPONENT",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("`%s` takes one component, such as %s", cmd.CommandPath(), controlplane.APIServer)}
			}
			return nil
		},
		ValidArgs: []string{
			controlplane.Etcd, controlplane.APIServer, controlplane.ControllerManager, dev.Manager,
			node.Containerd, node.Kubelet, node.Scheduler, node.Proxy,
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkDir(dir); err != nil {
				return err
			}
			client, err := control.Connect(dir)
			if err != nil {
				return err
			}
			note, err := client.Do(cmd.Context(), control.Command{Action: action, Component: args[0], Kill: *kill})
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "sandbox: "+note)
			return nil
		},
	}
	requireDir(cmd, &dir)
	return cmd
}
