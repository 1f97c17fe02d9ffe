// Package archive is the subcommand archive: what is recorded of deleted TeamSpaces.
package archive

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	store "labhub.io/teamspace/archive"
	"labhub.io/teamspace/internal/cli/access"
	"labhub.io/teamspace/internal/cli/document"
)

// New returns the subcommand.
func New(streams genericiooptions.IOStreams, flags *access.Flags) *cobra.Command {
	command := &cobra.Command{
		Use:   "archive",
		Short: "Show what is recorded of deleted TeamSpaces",
		Long: `archive reads the records that the manager keeps of every TeamSpace that was deleted. They
are found by what the manager publishes in its namespace, or named by --archive.`,
		ValidArgsFunction: cobra.NoFileCompletions,
		Example: `  # every record, the newest first
  kubectl teamspace archive list

  # the newest record of a name
  kubectl teamspace archive show alpha -o yaml`,
	}
	command.AddCommand(newList(streams, flags), newShow(streams, flags))
	return command
}

func newList(streams genericiooptions.IOStreams, flags *access.Flags) *cobra.Command {
	var location Location
	var format document.Format
	command := &cobra.Command{
		Use:   "list",
		Short: "List the records of deleted TeamSpaces, the newest first",
		Long:  `list prints a line for every record, the newest first. A name that was used twice has two.`,
		Example: `  kubectl teamspace archive list
  kubectl teamspace archive list --archive=file:///var/lib/teamspace -o json`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			opened, _, err := location.Open(command.Context(), flags)
			if err != nil {
				return err
			}
			records, err := opened.List(command.Context())
			if err != nil {
				return err
			}
			if len(records) == 0 {
				fmt.Fprintln(streams.ErrOut, "note: no record: no TeamSpace has been deleted since the archive is kept")
			}
			return format.Write(streams.Out, listing{Records: append([]store.Record{}, records...)}, func(out io.Writer) error {
				return printList(out, records)
			})
		},
	}
	location.AddFlag(command)
	format.AddFlag(command)
	return command
}

// listing is the document of list.
type listing struct {
	Records []store.Record `json:"records"`
}

func printList(out io.Writer, records []store.Record) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tPODS\tCPU\tARCHIVED\tUID")
	for _, r := range records {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\n", r.Name, r.Pods, r.CPU, r.ArchivedAt.Format(time.RFC3339), r.UID)
	}
	return table.Flush()
}

func newShow(streams genericiooptions.IOStreams, flags *access.Flags) *cobra.Command {
	var location Location
	var format document.Format
	var uid string
	command := &cobra.Command{
		Use:   "show NAME",
		Short: "Show the record of a deleted TeamSpace",
		Long: `show prints a record with the manifest of the TeamSpace in it: the newest of the name, or
the one that --uid names.`,
		Example: `  kubectl teamspace archive show alpha
  kubectl teamspace archive show alpha --uid=8f3c… -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: location.CompleteNames(flags),
		RunE: func(command *cobra.Command, args []string) error {
			opened, _, err := location.Open(command.Context(), flags)
			if err != nil {
				return err
			}
			records, err := opened.List(command.Context())
			if err != nil {
				return err
			}
			record, err := Find(records, args[0], uid)
			if err != nil {
				return err
			}
			return format.Write(streams.Out, record, func(out io.Writer) error { return printRecord(out, record) })
		},
	}
	command.Flags().StringVar(&uid, "uid", "", "The uid of the TeamSpace, where the name was used more than once.")
	location.AddFlag(command)
	format.AddFlag(command)
	return command
}

// printRecord prints a record for people, which is what YAML was made for.
func printRecord(out io.Writer, record store.Record) error {
	text, err := yaml.Marshal(record)
	if err != nil {
		return fmt.Errorf("printing the record of TeamSpace %q: %w", record.Name, err)
	}
	_, err = out.Write(text)
	return err
}

// Find returns the newest record of a name, or the one of that name and a uid. The records
// are in the order in which a store lists them.
func Find(records []store.Record, name, uid string) (store.Record, error) {
	for _, r := range records {
		if r.Name == name && (uid == "" || r.UID == uid) {
			return r, nil
		}
	}
	if uid != "" {
		return store.Record{}, fmt.Errorf("looking for TeamSpace %q with uid %q: %w", name, uid, store.ErrNotFound)
	}
	return store.Record{}, fmt.Errorf("looking for TeamSpace %q: %w", name, store.ErrNotFound)
}
