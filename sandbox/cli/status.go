package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"labhub.io/teamspace/sandbox/control"
	"labhub.io/teamspace/sandbox/process"
)

// newStatus returns the command that lists the programs of a sandbox.
func newStatus() *cobra.Command {
	var dir, output string
	cmd := &cobra.Command{
		Use:   "status --dir DIR",
		Short: "List the components with state, process and addresses",
		Example: `  sandbox status --dir /tmp/sandbox
  sandbox status --dir /tmp/sandbox -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkDir(dir); err != nil {
				return err
			}
			if output != "" && output != "json" {
				return usageError{fmt.Errorf("-o %s is no output format: there is json", output)}
			}
			client, err := control.Connect(dir)
			if err != nil {
				return err
			}
			all, err := client.Status(cmd.Context())
			if err != nil {
				return err
			}
			if output == "json" {
				return printJSON(cmd.OutOrStdout(), all)
			}
			return printTable(cmd.OutOrStdout(), all)
		},
	}
	requireDir(cmd, &dir)
	cmd.Flags().StringVarP(&output, "output", "o", "", "json, or nothing for a table")
	return cmd
}

// printJSON prints one document: a list of the programs.
func printJSON(w io.Writer, all []process.Status) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(all)
}

// printTable prints a line for each program.
func printTable(w io.Writer, all []process.Status) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "COMPONENT\tSTATE\tPID\tRESTARTS\tADDRESSES")
	for _, s := range all {
		pid := "-"
		if s.PID != 0 {
			pid = fmt.Sprint(s.PID)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\n", s.Name, s.State, pid, s.Restarts, addressList(s.Addresses))
	}
	return table.Flush()
}

// addressList is the addresses with what they are for, sorted by that.
func addressList(addresses map[string]string) string {
	if len(addresses) == 0 {
		return "-"
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(addresses)) {
		list = append(list, name+"="+addresses[name])
	}
	return strings.Join(list, " ")
}
