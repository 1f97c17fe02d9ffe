package tree

import (
	"fmt"
	"io"
	"strings"

	"labhub.io/teamspace/internal/cli/outline"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// print draws what owns the object, then what it owns.
func (w walker) print(out io.Writer, from graph.ID) error {
	root := &outline.Node{Text: w.object(from).String() + w.state(from)}
	owners := w.draw(from, w.owners, func(id, owner graph.ID) string { return w.marks(id, owner) })
	dependents := w.draw(from, w.dependents, func(id, dependent graph.ID) string { return w.marks(dependent, id) })
	for _, part := range []struct {
		title string
		node  *outline.Node
	}{{"owned by", owners}, {"owns", dependents}} {
		if len(part.node.Children) > 0 {
			root.Add(part.title).Children = part.node.Children
		}
	}
	if len(root.Children) == 0 {
		root.Text += ": no owner, no dependent"
	}
	return root.Write(out)
}

// draw hangs what next leads to below an object. What was drawn before is only named.
func (w walker) draw(from graph.ID, next func(graph.ID) []graph.ID, marks func(id, next graph.ID) string) *outline.Node {
	type branch struct {
		node *outline.Node
		id   graph.ID
	}
	root := &outline.Node{}
	seen := map[graph.ID]bool{from: true}
	todo := []branch{{root, from}}
	for at := 0; at < len(todo); at++ {
		for _, id := range next(todo[at].id) {
			text := w.object(id).String() + w.state(id) + marks(todo[at].id, id)
			if seen[id] {
				todo[at].node.Add(text + ", see elsewhere")
				continue
			}
			seen[id] = true
			todo = append(todo, branch{todo[at].node.Add(text), id})
		}
	}
	return root
}

func (w walker) state(id graph.ID) string {
	switch {
	case w.graph.Virtual(id) || !w.graph.Deleting(id):
		return ""
	default:
		return " [being deleted]"
	}
}

// marks say what is special about the reference of a dependent to an owner.
func (w walker) marks(dependent, owner graph.ID) string {
	var marks []string
	first, last := w.graph.ReferenceRange(dependent)
	for number := first; number < last; number++ {
		if w.graph.Edge(number).Owner != owner {
			continue
		}
		ref := w.graph.Reference(number)
		if ref.Controller != nil && *ref.Controller {
			marks = append(marks, "controller")
		}
		if ref.Blocking() {
			marks = append(marks, "blocks")
		}
		if c, ok := w.present.Classification(number); ok && c.Class != rules.Solid {
			marks = append(marks, c.Class.String())
		}
	}
	if len(marks) == 0 {
		return ""
	}
	return " (" + strings.Join(marks, ", ") + ")"
}

// printDot writes the tree for Graphviz, dependents pointing to their owners.
func printDot(out io.Writer, r *Report) error {
	fmt.Fprintln(out, "digraph ownership {\n  rankdir=BT;\n  node [shape=box];")
	for i := range r.Objects {
		o := &r.Objects[i]
		style := ""
		switch {
		case o.Absent:
			style = ", style=dashed"
		case o.Deleting:
			style = ", color=red"
		}
		fmt.Fprintf(out, "  %q [label=%q%s];\n", o.Object.UID, o.Object.String(), style)
	}
	for i := range r.Edges {
		e := &r.Edges[i]
		style := ""
		if e.Reference.Word != rules.Solid.String() {
			style = fmt.Sprintf(" [style=dashed, label=%q]", e.Reference.Word)
		}
		fmt.Fprintf(out, "  %q -> %q%s;\n", e.Dependent.UID, e.Owner.UID, style)
	}
	_, err := fmt.Fprintln(out, "}")
	return err
}
