// Package oracle compares what package rules predicts with what the real garbage
// collector does, on random graphs.
//
// Many graphs live side by side on one control plane, each in namespaces of its own,
// and go through the same rounds together: built while the collector is down, which is
// then started; changed while it runs, and while it stands still; and met again by a
// new collector. In front of each round the real objects are read, and what will become
// of them is predicted; after it the collector is left alone until it has settled, and
// every object is compared in existence, references, deletionTimestamp and finalizers.
//
// The collector may be late, since it comes back to what it could not judge after ever
// longer pauses, but never early. So a graph that agrees once agrees; one that does not
// gets as much time again as the collector has been running, and then is a
// disagreement. That something moves which should not is seen at the latest when the
// next round begins with it.
package oracle
