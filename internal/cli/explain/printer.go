package explain

import (
	"fmt"
	"io"
	"strings"
)

// printer writes a report for people.
type printer struct {
	out    io.Writer
	strong func(string) string // marks what counts most, on a terminal
	err    error
}

func (p *printer) line(depth int, format string, args ...any) {
	if p.err != nil {
		return
	}
	_, p.err = fmt.Fprintf(p.out, strings.Repeat("  ", depth)+format+"\n", args...)
}

func (p *printer) report(r *Report) error {
	p.line(0, "%s", p.strong(heading(r.Explanation)))
	p.deletions(r)
	p.causes(r.Explanation, 1)
	p.ways(r.Explanation)
	return p.err
}

func (p *printer) deletions(r *Report) {
	for i := range r.Deletions {
		for n, sentence := range r.Deletions[i].Sentences {
			p.line(1+min(n, 1), "- %s", sentence)
		}
	}
}

// heading says how an object is.
func heading(e *Explanation) string {
	finalizers := ""
	if len(e.Finalizers) > 0 {
		finalizers = " [" + strings.Join(e.Finalizers, ", ") + "]"
	}
	switch {
	case e.State == stateGone:
		return fmt.Sprintf("%s does not exist", e.Object)
	case e.State == stateUnknown:
		return fmt.Sprintf("%s, of which the cluster cannot be asked whether it exists", e.Object)
	case e.Told:
		return fmt.Sprintf("%s, see above", e.Object)
	case e.State == stateStuck:
		return fmt.Sprintf("%s is being deleted and does not go%s", e.Object, finalizers)
	case e.State == stateTerminating:
		return fmt.Sprintf("%s is being deleted%s", e.Object, finalizers)
	case len(e.Causes) > 0:
		return fmt.Sprintf("%s is not being deleted, but its references are not sound%s", e.Object, finalizers)
	default:
		return fmt.Sprintf("%s is not being deleted%s", e.Object, finalizers)
	}
}

func (p *printer) causes(e *Explanation, depth int) {
	for i := range e.Causes {
		c := &e.Causes[i]
		p.line(depth, "- %s (%s)", c.Message, c.Rule)
		for _, held := range c.HeldBy {
			p.line(depth+1, "- %s", heading(held))
			if !held.Told {
				p.causes(held, depth+2)
			}
		}
	}
}

// ways lists the ways out, what holds the rest first: deep down is where to begin. A
// deadlock is left by its own way, whatever its parts could do.
func (p *printer) ways(e *Explanation) {
	var fixes []string
	seen := map[string]bool{}
	var collect func(*Explanation)
	collect = func(e *Explanation) {
		for i := range e.Causes {
			cause := &e.Causes[i]
			if !cause.deadlock() {
				for _, held := range cause.HeldBy {
					collect(held)
				}
			}
			if fix := cause.Fix; fix != "" && !seen[fix] {
				seen[fix] = true
				fixes = append(fixes, fmt.Sprintf("%s: %s", e.Object, fix))
			}
		}
	}
	collect(e)
	if len(fixes) == 0 {
		return
	}
	p.line(0, "")
	p.line(0, "%s", p.strong("Way out:"))
	for i, fix := range fixes {
		p.line(1, "%d. %s", i+1, fix)
	}
}
