// Package explain is the subcommand explain: who holds an object that is being deleted, why,
// which component should have acted and whether it runs, and the safe way out; and of an
// object that is gone, who deleted it.
package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"labhub.io/teamspace/internal/cli/access"
	"labhub.io/teamspace/internal/cli/auditlog"
	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/internal/cli/exit"
	"labhub.io/teamspace/internal/cli/terminal"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/graph"
)

// secondLook is how long to wait before the collector is blamed (C54).
const secondLook = 5 * time.Second

type options struct {
	document.Format

	streams  genericiooptions.IOStreams
	flags    *access.Flags
	auditLog []string
}

// New returns the subcommand.
func New(streams genericiooptions.IOStreams, flags *access.Flags) *cobra.Command {
	o := &options{streams: streams, flags: flags}
	command := &cobra.Command{
		Use:   "explain TYPE/NAME",
		Short: "Explain why something is stuck, or who deleted it",
		Long: `explain says in sentences what holds an object that is being deleted: finalizers, the
component that should take them off and whether it runs; dependents that block it, in all
namespaces and in none; what is left in a namespace; webhooks, conversion webhooks and
aggregated APIs that do not answer; pods that use a claim. At the end stands the safest way
out, what to begin with first.

In the API server's audit log it finds who deleted an object that is gone or being deleted,
when, and if that was the garbage collector, which owner reference made it do so. A policy of the level
RequestResponse lets the log tell most, Metadata the least.

Exit status: 0 it is not stuck, 1 it is, 2 something could not be read.`,
		Example: `  # why does a namespace not go?
  kubectl teamspace explain namespace/team-a

  # kubectl's spellings all work
  kubectl teamspace explain sites.v1.own.labhub.io alpha -n op-own

  # who deleted it? The oldest file first
  kubectl teamspace explain ns/team-a --audit-log=audit-1.log --audit-log=audit.log`,
		ValidArgsFunction: flags.CompleteTargets,
		RunE:              func(command *cobra.Command, args []string) error { return o.run(command.Context(), args) },
	}
	command.Flags().StringArrayVar(&o.auditLog, "audit-log", nil, "A file of the API server's audit log, for who deleted it; - is the standard input. Can be given more than once, the oldest first.")
	o.Format.AddFlag(command)
	return command
}

func (o *options) run(ctx context.Context, args []string) error {
	cluster, err := o.flags.Cluster()
	if err != nil {
		return err
	}
	clean, err := o.spool()
	if err != nil {
		return err
	}
	defer clean()
	target, err := cluster.Target(args)
	if err != nil && len(o.auditLog) > 0 {
		return o.unknown(ctx, cluster, args, err)
	}
	if err != nil {
		return err
	}
	found, err := cluster.Metadata.Resource(target.Resource).Namespace(target.Namespace).Get(ctx, target.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return o.gone(ctx, target, stateGone)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", target, err)
	}
	e := &explainer{gatherer: gatherer{cluster: cluster}, progress: terminal.NewProgress(o.streams.ErrOut), target: target, found: found}
	report, err := e.explain(ctx)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("explaining %s: %w", target, err)
	}
	if err := o.whoMarked(ctx, report, target, found); err != nil {
		return err
	}
	access.NoteGaps(o.streams.ErrOut, report.Incomplete)
	if err := o.write(report); err != nil {
		return err
	}
	return exit.After(report.State == stateStuck, len(report.Incomplete) > 0)
}

// spool keeps what stands on the standard input if that is one of the files of the log, and
// returns what removes it.
func (o *options) spool() (clean func(), err error) {
	i := slices.Index(o.auditLog, "-")
	if i < 0 {
		return func() {}, nil
	}
	name, err := auditlog.Spool(o.streams.In)
	if err != nil {
		return nil, err
	}
	o.auditLog[i] = name
	return func() { _ = os.Remove(name) }, nil
}

// whoMarked adds who has deleted what is still there.
func (o *options) whoMarked(ctx context.Context, report *Report, target access.Target, found *metav1.PartialObjectMetadata) error {
	if len(o.auditLog) == 0 {
		return nil
	}
	if found.DeletionTimestamp.IsZero() {
		fmt.Fprintf(o.streams.ErrOut, "note: %s is not being deleted, so that the audit log was not read\n", target)
		return nil
	}
	var err error
	report.Deletions, err = searchMark(ctx, auditlog.New(o.auditLog), target, report.Object, found.CreationTimestamp.Time)
	if err == nil && len(report.Deletions) == 0 {
		fmt.Fprintf(o.streams.ErrOut, "note: the audit log does not tell who has deleted %s: that may be older than the log, or its policy leaves it out\n", target)
	}
	return err
}

func (o *options) write(report *Report) error {
	return o.Write(o.streams.Out, report, func(out io.Writer) error {
		p := printer{out: out, strong: func(text string) string { return text }}
		if terminal.Colours(out) {
			p.strong = func(text string) string { return "\x1b[1m" + text + "\x1b[0m" }
		}
		return p.report(report)
	})
}

// unknown explains what the cluster does not know the type of, or cannot be asked about.
func (o *options) unknown(ctx context.Context, cluster *access.Cluster, args []string, cause error) error {
	target, err := targetOfLog(ctx, auditlog.New(o.auditLog), cluster.Namespace, args)
	if err != nil {
		return fmt.Errorf("%w; %w", cause, err)
	}
	if _, unreachable := errors.AsType[*url.Error](cause); !unreachable {
		return o.gone(ctx, target, stateGone)
	}
	fmt.Fprintf(o.streams.ErrOut, "note: the cluster cannot be asked, so that this is what the audit log tells alone: %v\n", cause)
	if err := o.gone(ctx, target, stateUnknown); err != nil {
		return err
	}
	return exit.After(false, true)
}

// gone explains from the log alone.
func (o *options) gone(ctx context.Context, target access.Target, state string) error {
	if len(o.auditLog) == 0 {
		return fmt.Errorf("%s does not exist; who deleted it, and why, is in the API server's audit log: --audit-log=FILE", target)
	}
	object := document.Object{
		APIVersion: target.Kind.GroupVersion().String(), Kind: target.Kind.Kind, Namespace: target.Namespace, Name: target.Name,
	}
	report := &Report{Explanation: newExplanation(object, state, nil), Incomplete: []inventory.Incomplete{}}
	var err error
	if report.Deletions, err = search(ctx, auditlog.New(o.auditLog), target, object); err != nil {
		return err
	}
	if err := o.write(report); err != nil {
		return err
	}
	switch {
	case len(report.Deletions) == 0:
		return fmt.Errorf("the audit log does not tell of a deletion of %s: it may be older than the log, or its policy leaves it out", object)
	case !slices.ContainsFunc(report.Deletions, func(d Deletion) bool { return !d.Presumed }):
		return fmt.Errorf("the audit log does not tell that there ever was a %s: the name may be wrong, or the log too young", object)
	default:
		return nil
	}
}

// explainer explains one object that is there.
type explainer struct {
	gatherer

	progress *terminal.Progress
	target   access.Target
	found    *metav1.PartialObjectMetadata
}

func (e *explainer) explain(ctx context.Context) (*Report, error) {
	f, id, err := e.survey(ctx)
	if err != nil {
		return nil, err
	}
	e.progress.Show("reading what should have acted …")
	defer e.progress.Done()
	if !e.found.DeletionTimestamp.IsZero() {
		e.gatherCluster(ctx, f)
		e.gatherNamespaces(ctx, f)
	}
	explanation := e.judge(ctx, f, id)
	if needsSecondLook(explanation) {
		e.progress.Show("looking again in %s …", secondLook)
		if err := wait(ctx, secondLook); err != nil {
			return nil, err
		}
		again, againID, err := e.survey(ctx)
		if err != nil {
			return nil, err
		}
		again.webhooks, again.unavailable, again.conversions = f.webhooks, f.unavailable, f.conversions
		again.workloads, again.leases, again.nodes, again.claims = f.workloads, f.leases, f.nodes, f.claims
		again.namespaces, again.twice = f.namespaces, true
		f, explanation = again, e.judge(ctx, again, againID)
	}
	return &Report{Explanation: explanation, Incomplete: e.incomplete(f)}, nil
}

// survey reads the cluster, and finds the object in it.
func (e *explainer) survey(ctx context.Context) (*facts, graph.ID, error) {
	s, err := e.cluster.Survey(ctx, access.SurveyFor(e.target), e.progress)
	if err != nil {
		return nil, graph.None, err
	}
	id, ok := s.Graph.Find(e.found.UID)
	if !ok || s.Graph.Virtual(id) {
		return nil, graph.None, fmt.Errorf("%s is there, but not among what can be listed", e.target)
	}
	return newFacts(s), id, nil
}

// judge explains twice: the first time to learn of which objects the explanation tells, so
// that these are read whole.
func (e *explainer) judge(ctx context.Context, f *facts, id graph.ID) *Explanation {
	_, told := explainFacts(f, id)
	e.details(ctx, f, told)
	read := map[string]bool{}
	for _, id := range told {
		namespace := f.graph.Namespace(id)
		if namespace != "" && !read[namespace] && slices.Contains(f.graph.Finalizers(id), claimFinalizer) {
			read[namespace] = true
			e.gatherClaims(ctx, f, namespace)
		}
	}
	explanation, _ := explainFacts(f, id)
	return explanation
}

func needsSecondLook(e *Explanation) bool {
	for i := range e.Causes {
		if e.Causes[i].Rule == "E4" && len(e.Causes[i].HeldBy) == 0 && e.State == stateStuck {
			return true
		}
		if slices.ContainsFunc(e.Causes[i].HeldBy, needsSecondLook) {
			return true
		}
	}
	return false
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
