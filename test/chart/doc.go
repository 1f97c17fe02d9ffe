// Package chart tests the Helm chart without a node: what it makes of values, what values
// it refuses and how it says so, that an API server and Pod Security take all of it, and
// that the real helm installs, upgrades and uninstalls it.
//
// Run with -update to write the golden files anew, and read them before you commit them.
package chart
