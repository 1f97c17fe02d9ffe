// Package outline draws a tree as text.
package outline

import (
	"fmt"
	"io"
	"slices"
)

// Node is a line of text with what hangs below it.
type Node struct {
	Text     string
	Children []*Node
}

// Add hangs a line below the node, and returns it.
func (n *Node) Add(text string) *Node {
	child := &Node{Text: text}
	n.Children = append(n.Children, child)
	return child
}

// Write draws the tree. It does not recurse, since a chain of owners may be long.
func (n *Node) Write(out io.Writer) error {
	type line struct {
		node                *Node
		prefix, first, rest string
	}
	stack := []line{{node: n}}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if _, err := fmt.Fprintln(out, at.prefix+at.first+at.node.Text); err != nil {
			return err
		}
		prefix := at.prefix + at.rest
		for i, child := range slices.Backward(at.node.Children) {
			next := line{node: child, prefix: prefix, first: "├─ ", rest: "│  "}
			if i == len(at.node.Children)-1 {
				next.first, next.rest = "└─ ", "   "
			}
			stack = append(stack, next)
		}
	}
	return nil
}
