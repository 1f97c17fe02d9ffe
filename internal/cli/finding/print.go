package finding

import (
	"fmt"
	"io"
	"strings"
)

// Print prints a report for people.
func (r Report) Print(out io.Writer) {
	for i := range r.Findings {
		f := &r.Findings[i]
		fmt.Fprintf(out, "%-7s %-3s %s%s\n        %s\n", f.Severity, f.Rule, f.Object, f.where(), f.Message)
		if !strings.HasSuffix(f.Message, f.Fix) { // the guard's own words hold it already
			fmt.Fprintf(out, "        fix: %s\n", f.Fix)
		}
		if f.Fixed {
			fmt.Fprintln(out, "        fixed: "+f.done())
		}
	}
	for _, gap := range r.Incomplete {
		reason := gap.Reason
		if !strings.HasPrefix(reason, gap.Resource) { // the API server's own words name it
			reason = gap.Resource + ": " + reason
		}
		fmt.Fprintln(out, "unknown     "+reason)
	}
	if len(r.Findings)+len(r.Incomplete) > 0 {
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, r.Summary)
}

// where says in which file the object is.
func (f Finding) where() string {
	if f.Source == "" {
		return ""
	}
	return " (" + f.Source + ")"
}
