// Package ownership is the rules of the Kubernetes garbage collector as a
// library. See its packages graph, rules, explain and ownershiptest.
package ownership
