package audit

import (
	"fmt"
	"io"
	"strings"

	"labhub.io/teamspace/internal/cli/finding"
)

// printPatches prints what would fix the findings as lines of a shell, and everything else
// as comments between them.
func printPatches(out io.Writer, found []fixable, r finding.Report) error {
	for i := range found {
		f := &found[i]
		fmt.Fprintf(out, "# %s %s %s: %s\n", f.Severity, f.Rule, f.Object, f.Message)
		if len(f.Patch) == 0 {
			fmt.Fprintf(out, "# by hand: %s\n", f.Fix)
			continue
		}
		command, err := f.command()
		if err != nil {
			return err
		}
		fmt.Fprintln(out, command)
	}
	for _, gap := range r.Incomplete {
		fmt.Fprintf(out, "# unknown %s: %s\n", gap.Resource, oneLine(gap.Reason))
	}
	s := r.Summary
	fmt.Fprintf(out, "# %d error, %d warning, %d info, %d incomplete\n", s.Error, s.Warning, s.Info, s.Incomplete)
	return nil
}

// oneLine keeps a comment a comment.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
