// Package integration holds tests of the sandbox against the real binaries. A
// binary that is missing fails them: `make test` builds all of them first.
package integration
