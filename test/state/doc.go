// Package state brings real TeamSpaces into every state that docs/states.md tells of, and
// compares what one sees with what the page says.
package state
