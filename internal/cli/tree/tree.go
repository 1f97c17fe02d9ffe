// Package tree is the subcommand tree: what owns an object, and what it owns.
package tree

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"labhub.io/teamspace/internal/cli/access"
	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/internal/cli/terminal"
	"labhub.io/teamspace/ownership/rules"
)

// dot is the format for Graphviz.
const dot = "dot"

type options struct {
	document.Format

	streams genericiooptions.IOStreams
	flags   *access.Flags
}

// New returns the subcommand.
func New(streams genericiooptions.IOStreams, flags *access.Flags) *cobra.Command {
	o := &options{streams: streams, flags: flags}
	command := &cobra.Command{
		Use:   "tree TYPE/NAME",
		Short: "Draw what owns an object, and what it owns",
		Long: `tree draws the owners of an object and its dependents, in all namespaces and in none. By
each stands what the garbage collector takes the reference for, unless the owner is simply
there: absent, waiting, unresolvable, of bad scope, unknown. A cycle ends where it closes,
and an object with two owners is drawn once.

Exit status: 0 whenever it could be drawn; what could not be read is noted.`,
		Example: `  kubectl teamspace tree teamspace/alpha

  # as a picture
  kubectl teamspace tree deploy/web -n web -o dot | dot -Tsvg >web.svg`,
		ValidArgsFunction: flags.CompleteTargets,
		RunE:              func(command *cobra.Command, args []string) error { return o.run(command.Context(), args) },
	}
	o.Format.AddFlag(command, dot)
	return command
}

func (o *options) run(ctx context.Context, args []string) error {
	cluster, err := o.flags.Cluster()
	if err != nil {
		return err
	}
	target, err := cluster.Target(args)
	if err != nil {
		return err
	}
	survey, err := cluster.Survey(ctx, access.SurveyFor(target), terminal.NewProgress(o.streams.ErrOut))
	if err != nil {
		return err
	}
	id, err := cluster.Find(ctx, survey, target)
	if err != nil {
		return err
	}
	access.NoteGaps(o.streams.ErrOut, survey.Incomplete)
	w := walker{graph: survey.Graph, present: rules.Predict(survey.Graph)}
	report := w.report(id, survey.Incomplete)
	return o.Write(o.streams.Out, report, func(out io.Writer) error {
		if o.Format.String() == dot {
			return printDot(out, report)
		}
		return w.print(out, id)
	})
}
