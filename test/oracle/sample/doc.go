// Package sample draws random ownership graphs together with what happens to them,
// for comparing the rules of the garbage collector with the collector itself.
//
// A Sample is a small graph in namespaces of its own and a list of rounds. In each
// round something is done to the graph while the collector is down, stands still or
// runs, and after it the collector is left alone until it has settled. Nothing here
// knows of a cluster: names and uids are those of the notation of ownershiptest,
// and whoever builds a sample for real translates them.
//
// The same seed and number give the same sample.
package sample
