package access

import (
	"github.com/spf13/cobra"
)

// Scope says of which objects a subcommand speaks. What holds them, and what they hold, is
// looked for everywhere all the same.
type Scope struct {
	// Everywhere is -A: all namespaces, and what is in none.
	Everywhere bool
	// Selector is -l.
	Selector string
}

// AddFlags adds -A and -l to a subcommand.
func (s *Scope) AddFlags(command *cobra.Command) {
	command.Flags().BoolVarP(&s.Everywhere, "all-namespaces", "A", false, "Speak of all namespaces, and of what is in none.")
	command.Flags().StringVarP(&s.Selector, "selector", "l", "", "Speak only of objects with these labels, as kubectl does: -l app=web,tier!=test.")
}

// Unlimited reports whether a subcommand that speaks of everything by default does so:
// unless -n was given, it does.
func (s *Scope) Unlimited(c *Cluster) bool { return s.Everywhere || !c.Given }
