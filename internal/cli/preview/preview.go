// Package preview is the subcommand preview: what a deletion would take along.
package preview

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"labhub.io/teamspace/internal/cli/access"
	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/internal/cli/exit"
	"labhub.io/teamspace/internal/cli/terminal"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/graph"
)

// cascades are kubectl's words for the policies of a deletion.
var cascades = map[string]metav1.DeletionPropagation{
	"background": metav1.DeletePropagationBackground,
	"foreground": metav1.DeletePropagationForeground,
	"orphan":     metav1.DeletePropagationOrphan,
}

type options struct {
	document.Format

	streams genericiooptions.IOStreams
	flags   *access.Flags
	cascade string
}

// New returns the subcommand.
func New(streams genericiooptions.IOStreams, flags *access.Flags) *cobra.Command {
	command := &cobra.Command{
		Use:     "preview",
		Short:   "Say what a deletion would take along",
		Long:    `preview says what would happen, and changes nothing: all it sends besides reads is dry runs.`,
		Example: `  kubectl teamspace preview delete teamspace/alpha`,
		Args:    cobra.NoArgs,
		RunE:    func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newDelete(streams, flags))
	return command
}

func newDelete(streams genericiooptions.IOStreams, flags *access.Flags) *cobra.Command {
	o := &options{streams: streams, flags: flags}
	command := &cobra.Command{
		Use:   "delete TYPE/NAME...",
		Short: "Say what deleting an object would take along",
		Long: `delete predicts by the rules of the garbage collector what kubectl delete would bring about:
what is deleted, what stays, what loses a reference because another owner is there (pruned) or
because it was asked to (orphaned), what waits for a finalizer, what would block the deletion
for ever, and what depends on which of the collector's workers is first.

The API server is asked, with a dry run that deletes nothing, whether it would let the deletion
through, if you may delete; policies and webhooks answer that as they would the deletion.

Exit status: 0 all of it is sure to happen, 1 the deletion is refused, something blocks or is
not determined, 2 something could not be read.`,
		Example: `  # what goes with a team
  kubectl teamspace preview delete teamspace/alpha

  # as kubectl delete --cascade=foreground would do it, for a program
  kubectl teamspace preview delete site alpha -n op-own --cascade=foreground -o json`,
		ValidArgsFunction: flags.CompleteTargets,
		RunE:              func(command *cobra.Command, args []string) error { return o.run(command.Context(), args) },
	}
	command.Flags().StringVar(&o.cascade, "cascade", "background", "How dependents are treated, as kubectl delete has it: background, foreground or orphan.")
	// An error here is a flag that does not exist, and it was added in the line before.
	_ = command.RegisterFlagCompletionFunc("cascade", cobra.FixedCompletions([]string{"background", "foreground", "orphan"}, cobra.ShellCompDirectiveNoFileComp))
	o.Format.AddFlag(command)
	return command
}

func (o *options) run(ctx context.Context, args []string) error {
	policy, ok := cascades[o.cascade]
	if !ok {
		return fmt.Errorf("--cascade=%s: want background, foreground or orphan", o.cascade)
	}
	cluster, err := o.flags.Cluster()
	if err != nil {
		return err
	}
	targets, err := cluster.Targets(args)
	if err != nil {
		return err
	}
	survey, err := cluster.Survey(ctx, access.SurveyFor(targets...), terminal.NewProgress(o.streams.ErrOut))
	if err != nil {
		return err
	}
	var ids []graph.ID
	for _, target := range targets {
		id, err := cluster.Find(ctx, survey, target)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	r := request{graph: survey.Graph, policy: policy, targets: ids, instances: instances(survey, ids), unread: unread(survey)}
	refused := o.knock(ctx, cluster, targets, r)
	d := predict(r)
	report := d.report(refused, survey.Incomplete)
	access.NoteGaps(o.streams.ErrOut, report.Incomplete)
	if err := o.Write(o.streams.Out, report, func(out io.Writer) error { return d.print(out, report) }); err != nil {
		return err
	}
	return exit.After(len(report.Refused)+len(report.Blocked)+len(report.NonDeterministic) > 0, len(report.Incomplete) > 0)
}

// instances are the objects of the kinds whose definitions are among the targets.
func instances(survey *inventory.Survey, targets []graph.ID) map[graph.ID][]graph.ID {
	defined := map[string]graph.ID{}
	for _, id := range targets {
		apiVersion, kind, _ := survey.Graph.Kind(id)
		if kind == "CustomResourceDefinition" && strings.HasPrefix(apiVersion, "apiextensions.k8s.io/") {
			defined[survey.Graph.Name(id)] = id
		}
	}
	objects := map[graph.ID][]graph.ID{}
	if len(defined) == 0 {
		return objects
	}
	for id := range graph.ID(survey.Graph.Len()) {
		_, _, mapping := survey.Graph.Kind(id)
		resource, _ := survey.Resource(mapping.Type)
		if definition, ok := defined[resource.GroupResource().String()]; ok {
			objects[definition] = append(objects[definition], id)
		}
	}
	return objects
}

// unread are all namespaces, if there is something that could not be read and may be in one.
func unread(survey *inventory.Survey) []graph.ID {
	scoped := map[string]bool{} // what is in no namespace
	for _, t := range survey.Graph.Types().All() {
		if resource, ok := survey.Resource(t); ok && !t.Namespaced {
			scoped[resource.GroupResource().String()] = true
		}
	}
	if !slices.ContainsFunc(survey.Incomplete, func(i inventory.Incomplete) bool { return !scoped[i.Resource] }) {
		return nil
	}
	var namespaces []graph.ID
	for id := range graph.ID(survey.Graph.Len()) {
		if survey.Graph.IsNamespace(id) {
			namespaces = append(namespaces, id)
		}
	}
	return namespaces
}
