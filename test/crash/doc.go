// Package crash kills the manager right before and right after each of its writes, and
// compares what the next manager makes of it with a run that nobody disturbed.
package crash
