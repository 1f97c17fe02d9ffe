package audit

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/internal/cli/finding"
)

// printPatches prints what would fix the findings as lines of a shell, one for each object
// since each edit moves the others, and everything else as comments between them.
func printPatches(out io.Writer, found []fixable, r finding.Report) error {
	printed := map[types.UID]bool{}
	together := byObject(found)
	for i := range found {
		f := &found[i]
		fmt.Fprintf(out, "# %s %s %s: %s\n", f.Severity, f.Rule, f.Object, f.Message)
		switch {
		case len(f.Patch) == 0 && !f.object.DeletionTimestamp.IsZero():
			fmt.Fprintf(out, "# no patch: %s\n", f.Fix)
			continue
		case len(f.Patch) == 0:
			fmt.Fprintf(out, "# by hand: %s\n", f.Fix)
			continue
		case printed[f.Object.UID]:
			fmt.Fprintln(out, "# the patch above fixes this, too")
			continue
		}
		printed[f.Object.UID] = true
		command, err := f.object.command(editsOf(together[f.Object.UID]))
		if err != nil {
			return err
		}
		fmt.Fprintln(out, command)
	}
	for _, gap := range r.Incomplete {
		fmt.Fprintf(out, "# unknown %s: %s\n", gap.Resource, oneLine(gap.Reason))
	}
	fmt.Fprintf(out, "# %s\n", r.Summary)
	return nil
}

// oneLine keeps a comment a comment.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
