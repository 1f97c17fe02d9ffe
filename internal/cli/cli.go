// Package cli is the plugin kubectl-teamspace: it finds, predicts and explains what the
// garbage collector does. Each subcommand has a folder, with its options, a report that is
// made from facts alone, and a printer; here they are listed.
package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"labhub.io/teamspace/internal/cli/access"
	"labhub.io/teamspace/internal/cli/archive"
	"labhub.io/teamspace/internal/cli/audit"
	"labhub.io/teamspace/internal/cli/check"
	"labhub.io/teamspace/internal/cli/exit"
	"labhub.io/teamspace/internal/cli/explain"
	"labhub.io/teamspace/internal/cli/preview"
	"labhub.io/teamspace/internal/cli/restore"
	"labhub.io/teamspace/internal/cli/stuck"
	"labhub.io/teamspace/internal/cli/tree"
	"labhub.io/teamspace/internal/version"
)

// Run runs the plugin with the arguments after its name, and returns the status to exit with.
func Run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	command := New(streams)
	command.SetArgs(args)
	err := command.ExecuteContext(ctx)
	if err != nil && !exit.Silent(err) {
		fmt.Fprintln(streams.ErrOut, "error: "+err.Error())
	}
	return exit.Status(err)
}

// New returns the plugin's command with all its subcommands.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-teamspace",
		Short: "Find, predict and explain what the garbage collector does",
		Long: `kubectl teamspace finds, predicts and explains what the garbage collector of Kubernetes
does: for whoever is called when something is stuck, or has vanished. It works with every
type, on every cluster, whether or not TeamSpace is installed there.

Exit status: 0 nothing found, 1 something found, 2 something could not be looked at,
whatever else was found.`,
		Version:       version.Get(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl teamspace"},
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	flags := access.New()
	flags.AddTo(root)
	root.AddCommand(subcommands(streams, flags)...)
	root.InitDefaultCompletionCmd()
	for _, command := range append(root.Commands(), root) {
		if command.HasSubCommands() {
			needSubcommand(command)
		}
	}
	return root
}

// needSubcommand: without a subcommand the help is the answer; a wrong one is an error,
// which says what was meant, perhaps.
func needSubcommand(command *cobra.Command) {
	command.SuggestionsMinimumDistance = 2
	command.RunE = func(command *cobra.Command, _ []string) error { return command.Help() }
	command.Args = func(command *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		meant := ""
		if similar := command.SuggestionsFor(args[0]); len(similar) > 0 {
			meant = "; did you mean " + strings.Join(similar, " or ") + "?"
		}
		return fmt.Errorf("unknown command %q for %q%s", args[0], command.CommandPath(), meant)
	}
}

// subcommands lists the duties of the plugin.
func subcommands(streams genericiooptions.IOStreams, flags *access.Flags) []*cobra.Command {
	return []*cobra.Command{
		audit.New(streams, flags),
		check.New(streams, flags),
		archive.New(streams, flags),
		explain.New(streams, flags),
		preview.New(streams, flags),
		restore.New(streams, flags),
		stuck.New(streams, flags),
		tree.New(streams, flags),
		newVersionCommand(streams),
	}
}

func newVersionCommand(streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which version this is",
		Args:  cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			fmt.Fprintln(streams.Out, "kubectl-teamspace "+version.Get())
		},
	}
}
