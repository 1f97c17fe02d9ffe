// Package live builds ownership graphs on a real control plane and reads back what has
// become of them.
//
// A Cluster is the control plane; a Space is the part of it that belongs to one graph:
// namespaces of its own, and cluster-scoped objects with names of its own. Inside a
// space objects have the names and uids of the notation of ownershiptest; a Space
// translates them to real ones and back, so that what really is and what is predicted
// can be compared and printed as they are.
package live
