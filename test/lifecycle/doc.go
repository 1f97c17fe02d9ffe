// Package lifecycle tests what the manager does for one TeamSpace after the other: it
// serves it, keeps it as declared, tells in the status what is so, and lets it go.
package lifecycle
