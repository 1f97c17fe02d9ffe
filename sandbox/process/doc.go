// Package process runs other programs so that none of them outlives this one.
//
// A Spawner starts processes and binds their lives to its own. A Service keeps
// one program running: it starts it, probes it until it serves, stops it, and
// either reports its death or starts it again.
package process
