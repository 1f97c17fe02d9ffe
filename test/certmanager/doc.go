// Package certmanager tests the provider cert-manager against the real one: the
// controllers and the cainjector of cert-manager, from its Go module, run as a process of
// the tests. Its webhook is left out: all that it does is to check what the chart writes.
package certmanager
