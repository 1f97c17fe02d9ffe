// Package stuck is the subcommand stuck: what is being deleted and does not go, and what
// holds it.
package stuck

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"labhub.io/teamspace/internal/cli/access"
	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/internal/cli/exit"
	"labhub.io/teamspace/internal/cli/terminal"
	"labhub.io/teamspace/inventory"
)

type options struct {
	access.Scope
	document.Format

	streams genericiooptions.IOStreams
	flags   *access.Flags
	types   []string
}

// New returns the subcommand.
func New(streams genericiooptions.IOStreams, flags *access.Flags) *cobra.Command {
	o := &options{streams: streams, flags: flags}
	command := &cobra.Command{
		Use:   "stuck [TYPE...]",
		Short: "List what is being deleted and does not go, and what holds it",
		Long: `stuck prints a line for every object that is being deleted and is still there (STUCK), and
one for every reference that keeps such an object in foreground deletion (BLOCKER); or NONE.
A pod within its grace period is not stuck. The lines are sorted and hold no times, so that
two reports can be compared.

It speaks of all types, or of those that are named; of everything, or with -n of what is in a
namespace. Blockers are looked for everywhere.

  STUCK <Kind>/<name> finalizers=<a,b>
  BLOCKER <Kind>/<name> owner=<Kind>/<name> finalizers=<a,b>

Unless -n is given, a name is told with its namespace: <Kind>/<namespace>/<name>.

Exit status: 0 nothing is stuck, 1 something is, 2 something could not be read.`,
		Example: `  # everything that is stuck in the cluster
  kubectl teamspace stuck -A

  # one type in one namespace
  kubectl teamspace stuck sites.own.labhub.io -n op-own

  # why: ask for one of them
  kubectl teamspace explain namespace/team-a`,
		ValidArgsFunction: flags.CompleteTypes,
		RunE: func(command *cobra.Command, args []string) error {
			o.types = args
			return o.run(command.Context())
		},
	}
	o.Scope.AddFlags(command)
	o.Format.AddFlag(command)
	return command
}

func (o *options) run(ctx context.Context) error {
	cluster, err := o.flags.Cluster()
	if err != nil {
		return err
	}
	scope, err := o.scope(cluster)
	if err != nil {
		return err
	}
	progress := terminal.NewProgress(o.streams.ErrOut)
	survey, err := cluster.Survey(ctx, inventory.Options{Namespace: scope.namespace}, progress)
	if err != nil {
		return err
	}
	if access.LacksNamespace(survey, scope.namespace) {
		fmt.Fprintf(o.streams.ErrOut, "note: namespace %s does not exist\n", scope.namespace)
	}
	f := &finder{cluster: cluster, survey: survey, scope: scope, now: time.Now()}
	report := f.find(ctx)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("looking at what is being deleted: %w", err)
	}
	access.NoteGaps(o.streams.ErrOut, report.Incomplete)
	if err := o.Write(o.streams.Out, report, func(out io.Writer) error { return o.print(out, report, scope) }); err != nil {
		return err
	}
	return exit.After(len(report.Stuck) > 0, len(report.Incomplete) > 0)
}

func (o *options) scope(cluster *access.Cluster) (scope, error) {
	selector, err := labels.Parse(o.Selector)
	if err != nil {
		return scope{}, fmt.Errorf("reading the label selector %q: %w", o.Selector, err)
	}
	types, err := cluster.Types(o.types)
	if err != nil {
		return scope{}, err
	}
	s := scope{types: types, selector: selector}
	if !o.Unlimited(cluster) {
		s.namespace = cluster.Namespace
	}
	return s, nil
}

// print prints the lines. A blocker somewhere else than in the namespace that was asked
// about is easily looked for in the wrong place, so that a note says where it is.
func (o *options) print(out io.Writer, report *Report, s scope) error {
	for _, b := range report.Blockers {
		if s.namespace != "" && b.Object.Namespace != s.namespace {
			fmt.Fprintf(o.streams.ErrOut, "note: the blocker %s is not in namespace %s\n", b.Object, s.namespace)
		}
	}
	for _, line := range report.lines(s.namespace == "") {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}
