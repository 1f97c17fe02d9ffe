// Package e2e tests the chart as its users have it: installed by the real helm on a real
// node, with the manager in pods. It needs Linux and root, and takes minutes; `make e2e`
// runs it, and nothing else does.
package e2e
