// Package conflict tests what becomes of a namespace team-<name> that a TeamSpace did
// not make: one that was there before, one that is handed over, one whose TeamSpace
// went with its type.
package conflict
