package oracle

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/ownership/rules"
	"labhub.io/teamspace/test/oracle/sample"
)

// Disagreement is a graph of which not everything became what was predicted.
type Disagreement struct {
	// Seed and Number are what the graph was drawn with.
	Seed   uint64
	Number int
	// Sample is the smallest one known that shows it.
	Sample *sample.Sample
	// Round is the one in which it shows.
	Round int

	mode  sample.Mode
	graph string
	steps []string
	rows  []row
}

// row is one object, as it was predicted and as it is.
type row struct {
	predicted, truth, doubt string
	wrong                   bool
}

// newDisagreement writes down what was predicted of a trial and what is true.
func newDisagreement(t *trial, round int, mode sample.Mode, truth func(types.UID) rules.State) *Disagreement {
	p := t.prediction
	g := p.Graph()
	d := &Disagreement{Sample: t.sample, Round: round, mode: mode, graph: ownershiptest.Print(g), steps: t.describe(mode)}
	for id := range graph.ID(g.Len()) {
		is := truth(g.UID(id))
		outcome := p.Outcome(id)
		r := row{
			predicted: ownershiptest.PrintState(g, id, p.Likely(id)),
			truth:     ownershiptest.PrintState(g, id, is),
			wrong:     !outcome.Allows(is),
		}
		if !outcome.Deterministic() {
			r.doubt = fmt.Sprintf(" (or else %s, %v)", outcome.Fates, outcome.Because)
		}
		d.rows = append(d.rows, r)
	}
	return d
}

// String shows the graph, what happened, and prediction and truth side by side.
func (d *Disagreement) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "graph %d of seed %d disagrees after round %d, in which the collector was %s:\n\n", d.Number, d.Seed, d.Round, d.mode)
	b.WriteString(indent(d.graph + strings.Join(d.steps, "\n")))
	width := len("predicted")
	for _, r := range d.rows {
		width = max(width, len(r.predicted))
	}
	fmt.Fprintf(&b, "\n  %-*s   truth\n", width, "predicted")
	for _, r := range d.rows {
		sign := ' '
		if r.wrong {
			sign = '!'
		}
		fmt.Fprintf(&b, "%c %-*s | %s%s\n", sign, width, r.predicted, r.truth, r.doubt)
	}
	if d.Round > 0 {
		fmt.Fprintf(&b, "\nwhat led there:\n\n%s", indent(d.Sample.String()))
	}
	return b.String()
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		b.WriteString("  " + line)
	}
	b.WriteString("\n")
	return b.String()
}
