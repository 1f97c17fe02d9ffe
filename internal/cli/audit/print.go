package audit

import (
	"fmt"
	"io"

	"labhub.io/teamspace/ownership/explain"
)

// title names an object as people do.
func title(o explain.Target) string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// printText prints a report for people.
func printText(out io.Writer, r Report) {
	for i := range r.Findings {
		f := &r.Findings[i]
		fmt.Fprintf(out, "%-7s %-3s %s\n        %s\n        fix: %s\n", f.Severity, f.Rule, title(f.Object), f.Message, f.Fix)
		if f.Fixed {
			fmt.Fprintln(out, "        fixed")
		}
	}
	for _, gap := range r.Incomplete {
		fmt.Fprintf(out, "unknown     %s\n        %s\n", gap.Resource, gap.Reason)
	}
	if len(r.Findings)+len(r.Incomplete) > 0 {
		fmt.Fprintln(out)
	}
	s := r.Summary
	fmt.Fprintf(out, "%d error, %d warning, %d info, %d incomplete\n", s.Error, s.Warning, s.Info, s.Incomplete)
}

// printPatches prints what would fix the findings as lines of a shell, and everything else
// as comments between them.
func printPatches(out io.Writer, r Report) error {
	for i := range r.Findings {
		f := &r.Findings[i]
		fmt.Fprintf(out, "# %s %s %s: %s\n", f.Severity, f.Rule, title(f.Object), f.Message)
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
