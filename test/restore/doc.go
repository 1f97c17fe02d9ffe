// Package restore restores TeamSpaces and namespaces from a dump, in every way that
// docs/restore.md tells of, and compares what becomes of them with what the page says.
package restore
