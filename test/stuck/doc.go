// Package stuck holds what `kubectl teamspace stuck` and `explain` say against what a real
// control plane does: the ownership lab, the cases of public reports, and a namespace that
// vanished.
package stuck
