// Package guard tests what stands at the door: the guard of owner references, the
// webhooks of TeamSpace and the two policies, before the real API server and beside the
// real garbage collector.
package guard
