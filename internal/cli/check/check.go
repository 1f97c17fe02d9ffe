// Package check judges manifests before anybody applies them, as the API server and the
// guard would, and in their words.
package check

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/tools/clientcmd"

	"labhub.io/teamspace/internal/cli/access"
	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/internal/cli/exit"
	"labhub.io/teamspace/internal/cli/finding"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/graph"
)

// options are what the user chose.
type options struct {
	genericiooptions.IOStreams

	files   resource.FilenameOptions
	format  document.Format
	offline bool
}

// New returns the subcommand.
func New(streams genericiooptions.IOStreams, flags *access.Flags) *cobra.Command {
	o := &options{IOStreams: streams}
	command := &cobra.Command{
		Use:   "check -f FILE",
		Short: "Judge the owner references of manifests before they are applied",
		Long: `Judges the owner references in manifests as the API server and the guard would when they are
applied, and in their words, also where the guard is not installed. Nothing is sent but
questions.

With --offline, and where no cluster is configured, it says what can be said without one:
what the API server refuses, kinds that cannot be or whose scope does not fit, entries that
are there twice. Owners whose existence was not looked at then are told as incomplete. A
kubeconfig that is named and not there is an error.

Exit status: 0 nothing but information, 1 findings, 2 something could not be read, whatever
else was found.`,
		Example: `  # Would this be denied?
  kubectl teamspace check -f deploy.yaml

  # A folder, in CI, without a cluster
  kubectl teamspace check -R -f manifests/ --offline

  # What a template makes
  helm template . | kubectl teamspace check -f -`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error { return o.run(command.Context(), flags) },
	}
	command.Flags().StringArrayVarP(&o.files.Filenames, "filename", "f", nil, "File, folder or URL of the manifests; - is stdin. May be repeated.")
	command.Flags().BoolVarP(&o.files.Recursive, "recursive", "R", false, "Read folders with all that are in them.")
	command.Flags().BoolVar(&o.offline, "offline", false, "Ask no cluster.")
	// An error here is a flag that does not exist, and it was added three lines before.
	_ = command.MarkFlagRequired("filename")
	o.format.AddFlag(command)
	return command
}

// noArguments says what those who name a file mean.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("check takes no arguments, and %q is one: use -f", args[0])
	}
	return nil
}

func (o *options) run(ctx context.Context, flags *access.Flags) error {
	r := read(o.In, o.files)
	j, namespace, err := o.judge(ctx, flags, r.types)
	if err != nil {
		return err
	}
	var found []finding.Finding
	for _, m := range r.manifests {
		m.place(j.types, namespace)
		found = append(found, j.judge(ctx, m)...)
	}
	j.noteUnseen()
	report := finding.NewReport(found, append(j.gaps, r.gaps...))
	access.NoteGaps(o.ErrOut, report.Incomplete)
	err = o.format.Write(o.Out, report, func(out io.Writer) error {
		report.Print(out)
		return nil
	})
	if err != nil {
		return err
	}
	return exit.After(report.Worthy(), len(report.Incomplete) > 0)
}

// judge returns who judges, and the namespace of what names none.
func (o *options) judge(ctx context.Context, flags *access.Flags, defined []graph.Type) (*judge, string, error) {
	cluster, err := flags.Cluster()
	namespace := "default"
	if err == nil {
		namespace = cluster.Namespace
	}
	// Without a kubeconfig a client looks on this machine, where there is no API server.
	if o.offline || err == nil && cluster.Config.Host == clientcmd.ClusterDefaults.Server {
		if !o.offline {
			if err := checkKubeconfig(); err != nil {
				return nil, "", err
			}
		}
		types := graph.NewTypes(append(inventory.BuiltInTypes(), defined...)...)
		return &judge{owners: inventory.Offline{Types: types}, types: types, unseen: map[string]int{}}, namespace, nil
	}
	if err != nil {
		return nil, "", err
	}
	catalog := inventory.NewCatalog(cluster.Discovery)
	objects := inventory.GetByList(cluster.Metadata)
	reader := inventory.NewReader(catalog, objects)
	snapshot, err := catalog.Snapshot(ctx, reader.Now())
	if err != nil {
		return nil, "", err
	}
	types := graph.NewTypes(append(defined, snapshot.Types.All()...)...)
	return &judge{owners: reader, types: types, online: &online{snapshot: snapshot, objects: objects, lists: map[place]*metav1.PartialObjectMetadataList{}}}, namespace, nil
}
