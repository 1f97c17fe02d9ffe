// Package replica runs processes of the manager beside those of a world, or in their
// place: the sandbox runs one for each Deployment, and a test that is about several of
// them, about their certificates or about their end needs them in its own hands. They are
// the same binary with the same ServiceAccounts.
package replica
