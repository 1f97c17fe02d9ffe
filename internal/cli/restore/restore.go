// Package restore is the subcommand restore: a deleted TeamSpace is made again from its
// record.
package restore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	store "labhub.io/teamspace/archive"
	"labhub.io/teamspace/internal/cli/access"
	"labhub.io/teamspace/internal/cli/archive"
)

// ErrTaken is the error of a name that a TeamSpace has again.
var ErrTaken = errors.New("a TeamSpace of that name exists; nothing was changed")

type options struct {
	archive.Location
	streams genericiooptions.IOStreams
	flags   *access.Flags
	name    string
	uid     string
	dryRun  bool
}

// New returns the subcommand.
func New(streams genericiooptions.IOStreams, flags *access.Flags) *cobra.Command {
	o := &options{streams: streams, flags: flags}
	command := &cobra.Command{
		Use:   "restore NAME",
		Short: "Make a deleted TeamSpace again from its record",
		Long: `restore makes a TeamSpace again as it was when it was deleted: its spec, labels and
annotations. It gets a new uid, and no owner references or finalizers of the old one. A name
that is taken is refused.

What was in the namespace is not in the record. A namespace that stayed behind is not taken
over: it has to be handed over by its annotation, which restore then says.`,
		Example: `  # the newest record of the name
  kubectl teamspace restore alpha

  # an older one of a name that was used twice; only try
  kubectl teamspace restore alpha --uid=8f3c… --dry-run`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: o.CompleteNames(flags),
		RunE: func(command *cobra.Command, args []string) error {
			o.name = args[0]
			return o.run(command.Context())
		},
	}
	command.Flags().StringVar(&o.uid, "uid", "", "The uid of the TeamSpace, where the name was used more than once.")
	command.Flags().BoolVar(&o.dryRun, "dry-run", false, "Ask the API server whether it would be made, and change nothing.")
	o.AddFlag(command)
	return command
}

func (o *options) run(ctx context.Context) error {
	opened, live, err := o.Open(ctx, o.flags)
	if err != nil {
		return err
	}
	records, err := opened.List(ctx)
	if err != nil {
		return err
	}
	record, err := archive.Find(records, o.name, o.uid)
	if err != nil {
		return err
	}
	ts, err := FromRecord(record)
	if err != nil {
		return err
	}
	if err := o.create(ctx, live, ts); err != nil {
		return err
	}
	o.tellOfNamespace(ctx, live, ts)
	return nil
}

func (o *options) create(ctx context.Context, live client.Client, ts *v1alpha1.TeamSpace) error {
	var how []client.CreateOption
	done := "restored"
	if o.dryRun {
		how, done = append(how, client.DryRunAll), "restored (dry run)"
	}
	err := live.Create(ctx, ts, how...)
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("restoring TeamSpace %q: %w", o.name, ErrTaken)
	}
	if err != nil {
		return fmt.Errorf("restoring TeamSpace %q: %w", o.name, err)
	}
	fmt.Fprintf(o.streams.Out, "teamspace.platform.labhub.io/%s %s\n", ts.Name, done)
	return nil
}

// tellOfNamespace says how to hand over a namespace that stayed behind. One that the
// controller has just made belongs to the TeamSpace already.
func (o *options) tellOfNamespace(ctx context.Context, live client.Client, ts *v1alpha1.TeamSpace) {
	var namespace corev1.Namespace
	err := live.Get(ctx, client.ObjectKey{Name: v1alpha1.NamespaceFor(ts.Name)}, &namespace)
	if apierrors.IsNotFound(err) {
		return
	}
	if err != nil {
		fmt.Fprintf(o.streams.ErrOut, "note: whether its namespace is there already could not be read: %v\n", err)
		return
	}
	if owner := metav1.GetControllerOf(&namespace); owner != nil && owner.UID == ts.UID {
		return
	}
	if !namespace.DeletionTimestamp.IsZero() {
		fmt.Fprintf(o.streams.ErrOut, "note: namespace %s is still being deleted; the TeamSpace is served once it has gone\n", namespace.Name)
		return
	}
	fmt.Fprintf(o.streams.ErrOut, "note: namespace %s is there already and is not taken over; to hand it over:\n  kubectl annotate namespace %s %s=%s\n",
		namespace.Name, namespace.Name, v1alpha1.AnnotationAdopt, ts.Name)
}

// FromRecord returns the TeamSpace of a record, fit to be created: as somebody would write
// it down, without anything that only the old one had. References would have the
// collector delete it for owners that are gone; whoever had a finalizer puts it on again.
func FromRecord(record store.Record) (*v1alpha1.TeamSpace, error) {
	var old v1alpha1.TeamSpace
	if err := json.Unmarshal(record.Manifest, &old); err != nil {
		return nil, fmt.Errorf("reading the manifest in the record of TeamSpace %q: %w", record.Name, err)
	}
	if old.Name != record.Name {
		return nil, fmt.Errorf("the record of TeamSpace %q holds the manifest of %q", record.Name, old.Name)
	}
	return &v1alpha1.TeamSpace{
		ObjectMeta: metav1.ObjectMeta{Name: old.Name, Labels: old.Labels, Annotations: old.Annotations},
		Spec:       old.Spec,
	}, nil
}
