// Package inventory reads a live cluster into the facts that package ownership
// judges: which types are served, and what is there under the name that an owner
// reference gives. It reads metadata only, and it never says that something is
// absent because a cache does not hold it.
package inventory
