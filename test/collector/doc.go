// Package collector tests rows of the rule book against the real garbage collector that
// random graphs do not reach, or not often: types that come and go, deadlocks and what
// ends them, and the one Event that the collector writes.
//
// A scene is one row, told in the notation of ownershiptest: what is there, what
// happens, and what has to be left. What is left is also compared with what package
// rules predicts of it. All scenes play at once, since most of them wait: first those
// that the collector meets while it runs, then, after it was stopped and started once,
// what it does about them anew.
package collector
