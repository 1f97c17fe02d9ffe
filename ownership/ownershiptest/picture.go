package ownershiptest

import (
	"fmt"
	"strings"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// Picture writes a prediction for people and golden files: what happens, in
// order; then, after =>, every object as it is left. An object with several
// possible ends has a line after ?> for what else may become of it and why,
// and one that would be deleted or pruned if the collector looked says so
// after ~>.
func Picture(p *rules.Prediction) string {
	var b strings.Builder
	g := p.Graph()
	objects := newPrinter(g)
	for _, e := range p.Effects() {
		fmt.Fprintf(&b, "%s %s%s (%s)\n", name(g, e.Object), e.Verb, of(g, e.Reference), e.Rule)
	}
	latent := map[graph.ID]bool{}
	for _, id := range p.Latent() {
		latent[id] = true
	}
	for id := range graph.ID(g.Len()) {
		fmt.Fprintf(&b, "=> %s\n", objects.object(g.Object(id), p.Likely(id)))
		if o := p.Outcome(id); !o.Deterministic() {
			fmt.Fprintf(&b, "?> %s\n", alternatives(g, id, o))
		}
		if d, ok := p.Decision(id); ok && latent[id] {
			fmt.Fprintf(&b, "~> %s (%s): %s\n", d.Action, d.Rule, d.Because)
		}
	}
	return b.String()
}

func name(g *graph.Graph, id graph.ID) string {
	_, kind, _ := g.Kind(id)
	return quote(kind) + " " + quote(joinName(g.Namespace(id), g.Name(id)))
}

// of names the owner of an effect on a reference.
func of(g *graph.Graph, number int) string {
	if number < 0 {
		return ""
	}
	ref := g.Reference(number)
	return " " + quote(ref.Kind) + " " + quote(ref.Name)
}

func alternatives(g *graph.Graph, id graph.ID, o rules.Outcome) string {
	parts := []string{o.Fates.String()}
	first, _ := g.ReferenceRange(id)
	for i, fate := range o.References {
		if words := referenceFates(fate); o.Fates != rules.Gone && words != "kept" {
			parts = append(parts, strings.TrimSpace(of(g, first+i))+" "+words)
		}
	}
	if len(o.Finalizers) > 1 {
		var lists []string
		for _, f := range o.Finalizers {
			lists = append(lists, "["+printFinalizers(f)+"]")
		}
		parts = append(parts, strings.Join(lists, " or "))
	}
	return strings.Join(parts, "; ") + fmt.Sprintf(" %v", o.Because)
}

func referenceFates(f rules.ReferenceFate) string {
	var list []string
	for _, known := range []struct {
		fate rules.ReferenceFate
		word string
	}{{rules.Kept, "kept"}, {rules.Freed, "unblocked"}, {rules.Dropped, "dropped"}} {
		if f&known.fate != 0 {
			list = append(list, known.word)
		}
	}
	return strings.Join(list, " or ")
}
