// Package idle counts, in the API server's audit log, what the manager asks for: one
// write for each thing that it makes, and nothing at all when nothing happens.
package idle
