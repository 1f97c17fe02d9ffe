package preview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"labhub.io/teamspace/internal/cli/outline"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/graph"
)

// print draws what hangs below each target with its fate, then lists what happens in order.
func (d *deletion) print(out io.Writer, r *Report) error {
	printRefused(out, r.Refused)
	shown := map[graph.ID]bool{}
	for _, id := range d.roots() {
		if shown[id] {
			continue
		}
		if err := d.draw(id, shown).Write(out); err != nil {
			return err
		}
	}
	if len(r.Order) > 0 {
		fmt.Fprintln(out, "\nIn this order:")
	}
	for i := range r.Order {
		fmt.Fprintf(out, "  %d. %s (%s)\n", i+1, r.Order[i].Message, r.Order[i].Rule)
	}
	d.printOpen(out, r)
	if len(r.Afterwards) > 0 {
		fmt.Fprintln(out, "\nOnce finalizers are taken off, these go:")
	}
	for i := range r.Afterwards {
		fmt.Fprintf(out, "  - %s\n", r.Afterwards[i].Message)
	}
	for _, note := range r.Notes {
		fmt.Fprintln(out, "\nNote: "+note)
	}
	_, err := fmt.Fprintln(out, "\n"+r.Summary.String())
	return err
}

// printOpen says in full what the tree has no room for.
func (d *deletion) printOpen(out io.Writer, r *Report) {
	for _, list := range []struct {
		title string
		fates []Fate
	}{{"Blocked:", r.Blocked}, {"Waiting:", r.Waiting}} {
		if len(list.fates) == 0 {
			continue
		}
		fmt.Fprintln(out, "\n"+list.title)
		for i := range list.fates {
			fmt.Fprintf(out, "  - %s (%s)\n", list.fates[i].Message, list.fates[i].Rule)
		}
	}
	if len(r.NonDeterministic) > 0 {
		fmt.Fprintln(out, "\nNot determined:")
	}
	for i := range r.NonDeterministic {
		fmt.Fprintf(out, "  - %s\n", r.NonDeterministic[i].Message) // it names its rows
	}
}

// String counts in words, and leaves out what there is none of.
func (s Summary) String() string {
	var parts []string
	for _, part := range []struct {
		count int
		name  string
	}{
		{s.Deleted, fateDeleted},
		{s.Waiting, fateWaiting},
		{s.Blocked, fateBlocked},
		{s.Pruned, fatePruned},
		{s.Orphaned, fateOrphaned},
		{s.Kept, fateKept},
		{s.NonDeterministic, fateOpen},
	} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.name))
		}
	}
	text := strings.Join(parts, ", ")
	if s.Afterwards > 0 {
		text += "; " + goAfterwards(s.Afterwards)
	}
	return text
}

func goAfterwards(count int) string {
	if count == 1 {
		return "1 of these goes once the finalizers are off"
	}
	return fmt.Sprintf("%d of these go once the finalizers are off", count)
}

// draw makes the tree of one target. What was drawn before is only named, so that a cycle
// comes to its end, and an object with two owners is told once.
func (d *deletion) draw(target graph.ID, shown map[graph.ID]bool) *outline.Node {
	type branch struct {
		node *outline.Node
		id   graph.ID
	}
	root := &outline.Node{Text: d.title(target)}
	shown[target] = true
	todo := []branch{{root, target}}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		var next []branch
		for _, id := range d.hanging(at.id) {
			if shown[id] {
				at.node.Add(explain.Name(d.graph, id) + ": see elsewhere")
				continue
			}
			shown[id] = true
			next = append(next, branch{at.node.Add(d.title(id)), id})
		}
		slices.Reverse(next)
		todo = append(todo, next...)
	}
	return root
}

func (d *deletion) title(id graph.ID) string {
	name, _ := d.fate(id)
	if name == fateDeleted && d.soleOwner(id) {
		name += " (sole owner)"
	}
	if name == fateKept && d.goesLater(id) {
		name = "kept until the finalizers are off"
	}
	return explain.Name(d.graph, id) + ": " + name
}

// roots are the objects that trees are drawn of, as far as no other tree has shown them: the
// targets, what has reacted and hangs below nothing, and what owns each other in a namespace.
func (d *deletion) roots() []graph.ID {
	hangs := map[graph.ID]bool{}
	for _, id := range d.reached {
		for _, below := range d.hanging(id) {
			hangs[below] = true
		}
	}
	roots := slices.Clone(d.targets)
	for _, below := range []bool{false, true} {
		for _, id := range d.reached {
			if hangs[id] == below {
				roots = append(roots, id)
			}
		}
	}
	return roots
}

// hanging are those of the objects below one that the deletion reaches. What has an owner in
// its namespace hangs below that owner, and not below the namespace.
func (d *deletion) hanging(id graph.ID) []graph.ID {
	hanging := slices.DeleteFunc(d.below(id), func(below graph.ID) bool {
		return !d.reaches[below] || d.inside(id, below) && d.ownedInside(below)
	})
	slices.SortFunc(hanging, func(a, b graph.ID) int {
		return cmp.Or(strings.Compare(explain.Name(d.graph, a), explain.Name(d.graph, b)), cmp.Compare(a, b))
	})
	return slices.Compact(hanging)
}

// inside reports whether an object is the namespace of another.
func (d *deletion) inside(namespace, id graph.ID) bool {
	return d.graph.IsNamespace(namespace) && d.graph.Namespace(id) == d.graph.Name(namespace)
}

// ownedInside reports whether an object has an owner in its own namespace, below which it
// hangs.
func (d *deletion) ownedInside(id graph.ID) bool {
	first, last := d.graph.ReferenceRange(id)
	for number := first; number < last; number++ {
		owner := d.graph.Edge(number).Owner
		if !d.graph.Virtual(owner) && owner != id && d.graph.Namespace(owner) == d.graph.Namespace(id) {
			return true
		}
	}
	return false
}
