package explain

import (
	"slices"

	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/rules"
)

// Report is the answer of explain.
type Report struct {
	*Explanation

	Deletions  []Deletion             `json:"deletions,omitempty"`
	Incomplete []inventory.Incomplete `json:"incomplete"`
}

// The states of an object.
const (
	stateLive        = "live"        // it is not being deleted
	stateTerminating = "terminating" // it is being deleted and within its time
	stateStuck       = "stuck"       // it is being deleted and does not go
	stateGone        = "gone"        // it does not exist
	stateUnknown     = "unknown"     // the cluster cannot be asked
)

// Explanation says why an object is still there.
type Explanation struct {
	Object     document.Object `json:"object"`
	State      string          `json:"state"`
	Finalizers []string        `json:"finalizers"`
	Causes     []Cause         `json:"causes"`

	// Told says that the causes stand somewhere above: what holds each other is told once.
	Told bool `json:"told,omitempty"`
}

// newExplanation begins one; lists that are empty are written as such.
func newExplanation(object document.Object, state string, finalizers []string) *Explanation {
	return &Explanation{Object: object, State: state, Finalizers: append([]string{}, finalizers...), Causes: []Cause{}}
}

// Cause is one thing that keeps an object.
type Cause struct {
	// Rule is the row of the rule book.
	Rule string `json:"rule"`

	// Message is a sentence, Fix the safest way out; without one it is a matter of waiting,
	// or of what is told below.
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`

	// HeldBy are the objects that have to go before.
	HeldBy []*Explanation `json:"heldBy,omitempty"`
}

// deadlock reports whether the cause never goes away by itself.
func (c *Cause) deadlock() bool {
	return slices.Contains([]string{string(rules.F5), string(rules.F6), string(rules.F7)}, c.Rule)
}
