// Package audit finds every owner reference in a cluster that is wrong, doubtful or only
// right as long as nobody looks, says what the garbage collector will do to the object, and
// fixes what can be fixed.
package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"labhub.io/teamspace/internal/cli/access"
	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/internal/cli/exit"
	"labhub.io/teamspace/internal/cli/terminal"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// options are what the user chose.
type options struct {
	genericiooptions.IOStreams

	scope  access.Scope
	format document.Format
	fix    bool
	yes    bool

	cluster  *access.Cluster
	selector labels.Selector
}

// New returns the subcommand.
func New(streams genericiooptions.IOStreams, flags *access.Flags) *cobra.Command {
	o := &options{IOStreams: streams}
	command := &cobra.Command{
		Use:   "audit",
		Short: "Find every owner reference that is wrong, and say what becomes of the object",
		Long: `Finds every owner reference that is wrong or doubtful, says what the garbage collector will
do to the object, and how to put it right. It reads the metadata of everything that you may
list, and looks at each finding live before it tells of it. Without -n it speaks of the whole
cluster.

With --fix it prints the patches that help, as lines of a shell; with --fix --yes it applies
them, to objects that nobody has changed since. What is dropped is only ever a reference.

Exit status: 0 nothing but information, 1 findings, also if they are fixed by now,
2 something could not be read, whatever else was found.`,
		Example: `  # What is wrong in the whole cluster?
  kubectl teamspace audit

  # In one namespace, for a program
  kubectl teamspace audit -n web -o json

  # What would put it right, and do so
  kubectl teamspace audit -n web --fix
  kubectl teamspace audit -n web --fix --yes`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := o.complete(flags); err != nil {
				return err
			}
			return o.run(command.Context())
		},
	}
	o.scope.AddFlags(command)
	o.format.AddFlag(command)
	command.Flags().BoolVar(&o.fix, "fix", false, "Print the patches that help.")
	command.Flags().BoolVar(&o.yes, "yes", false, "With --fix: apply the patches.")
	return command
}

// noArguments says what those who name something mean.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("audit takes no arguments, and %q is one: use -n and -l", args[0])
	}
	return nil
}

func (o *options) complete(flags *access.Flags) (err error) {
	if o.yes && !o.fix {
		return errors.New("--yes applies what --fix prints: give both")
	}
	if o.selector, err = labels.Parse(o.scope.Selector); err != nil {
		return fmt.Errorf("reading the selector: %w", err)
	}
	o.cluster, err = flags.Cluster()
	return err
}

func (o *options) run(ctx context.Context) error {
	found, incomplete, err := o.find(ctx)
	if err != nil {
		return err
	}
	if o.fix && o.yes {
		for _, err := range apply(ctx, o.cluster.Metadata, found) {
			fmt.Fprintln(o.ErrOut, "not fixed: "+err.Error())
		}
	}
	report := reportOf(found, incomplete)
	access.NoteGaps(o.ErrOut, report.Incomplete)
	err = o.format.Write(o.Out, report, func(out io.Writer) error {
		if o.fix && !o.yes {
			return printPatches(out, found, report)
		}
		report.Print(out)
		return nil
	})
	if err != nil {
		return err
	}
	return exit.After(report.Worthy(), len(report.Incomplete) > 0)
}

// find reads the cluster, and looks live at what seems to be wrong.
func (o *options) find(ctx context.Context) ([]fixable, []inventory.Incomplete, error) {
	var s scope
	if !o.scope.Unlimited(o.cluster) {
		s.namespace = o.cluster.Namespace
	}
	progress := terminal.NewProgress(o.ErrOut)
	defer progress.Done()
	survey, err := o.cluster.Survey(ctx, inventory.Options{Namespace: s.namespace}, progress)
	if err != nil {
		return nil, nil, err
	}
	if access.LacksNamespace(survey, s.namespace) {
		fmt.Fprintf(o.ErrOut, "note: namespace %s does not exist\n", s.namespace)
	}
	progress.Show("looking at what was found …")
	objects := inventory.GetByList(o.cluster.Metadata)
	r := newRings(survey.Graph)
	c := newConfirmer(survey, r, inventory.NewReader(inventory.NewCatalog(o.cluster.Discovery), objects), objects, o.selector)
	found := o.confirm(ctx, c, s)
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("looking at what was found: %w", err)
	}
	return found, append(gapsIn(s, survey.Incomplete), c.gaps...), nil
}

// confirm looks at all that seems to be wrong.
func (o *options) confirm(ctx context.Context, c *confirmer, s scope) []fixable {
	g := c.survey.Graph
	var mu sync.Mutex
	var all []fixable
	add := func(found []fixable) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, found...)
	}
	each(candidates(g, s, c.rings), func(id graph.ID) { add(c.judge(ctx, id)) })
	each(lost(g, s), func(id graph.ID) { add(c.lost(ctx, id)) })
	if waits(g) {
		p := rules.Predict(g)
		each(deadlocks(p, s), func(number int) { add(c.deadlock(ctx, p, number)) })
	}
	if statefulSets(g, s) {
		each(c.claimTemplates(ctx, o.cluster.Dynamic, s), func(t template) { add(c.claims(ctx, t)) })
	}
	return all
}

// gapsIn leaves out what could not be read outside of the namespace that is asked about.
func gapsIn(s scope, gaps []inventory.Incomplete) []inventory.Incomplete {
	var inside []inventory.Incomplete
	for _, gap := range gaps {
		if s.namespace == "" || !gap.Elsewhere {
			inside = append(inside, gap)
		}
	}
	return inside
}
