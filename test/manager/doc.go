// Package manager tests the manager as a process among others: who it is to the
// cluster, what it may do there, and how fast another one takes over.
package manager
