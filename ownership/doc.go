// Package ownership is the rules of the Kubernetes garbage collector as a
// library: facts in, verdict out. There is no client, no clock, no log and no
// context in it. What reads a cluster, and what acts on it, lives elsewhere and
// asks here.
//
// # The model
//
// An object may name owners in metadata.ownerReferences. The API server stores
// such a reference without asking whether the owner exists, has that uid, or
// lives where the collector will look for it. The collector decides later, and
// its answer is deletion.
//
// The collector keeps a graph. Its nodes are objects by uid, and virtual nodes
// for owners that it has not observed; a reference is an edge from a dependent
// to the node of its uid. Only some events make it look at an object: it sees
// the object or a reference for the first time, an owner goes, an owner starts
// to wait. It looks at nothing merely because time passes, so a verdict can be
// latent until the collector restarts.
//
// When it looks at an object it reads each owner by kind and name, in the
// dependent's own namespace if the kind is namespaced, and classifies the
// reference: solid, absent (nobody there, or with another uid), waiting (in
// foreground deletion), unresolvable, of bad scope, or unknown. Package rules
// does the same in Classify, and decides the object from the classes in Decide:
// one solid owner keeps it, and what is not solid beside it is pruned; without
// one it is deleted; and the last three classes stop the collector, so that the
// object stays.
//
// # Deletion
//
// In the background an owner goes first and its dependents follow. In the
// foreground it gets the finalizer foregroundDeletion and waits for those that
// have blockOwnerDeletion; some never go, and then neither does the owner.
// With orphan its dependents lose the reference and stay.
//
// Predict lets events happen to a whole graph and says how each object ends.
// The collector has many workers, and sometimes the end depends on who is
// first. Then Prediction.Outcome is a set of states with the rows that open it,
// and not a guess; in every other case it is one state.
//
// # The packages
//
// graph holds objects and references, a million of them if need be. rules is
// the table. explain makes sentences of verdicts. ownershiptest is a notation
// for graphs, for tests and for people.
//
// The ids that verdicts carry (K1, R08, F5, D3) are those of the project's rule
// book; each is repeated in the tests that bear its name.
package ownership
