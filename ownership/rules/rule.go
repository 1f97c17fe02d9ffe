// Package rules restates what the garbage collector does, as functions from
// facts to verdicts. Classify judges one reference, Decide one object, Predict
// a whole graph after something happened to it. Nothing is fetched, and each
// verdict carries the id of the row of the rule book that fired.
package rules

// Rule is the id of a row of the rule book. K rows classify a reference,
// R rows decide an object, F rows govern deletion and finalizers, N rows
// namespaces, and D rows are corrections that the real collector forced.
type Rule string

// The rows that this package can fire.
const (
	K1 Rule = "K1" // the coordinates are in the absent-owner cache
	K2 Rule = "K2" // apiVersion and kind do not resolve
	K3 Rule = "K3" // a cluster-scoped dependent names a namespaced kind
	K4 Rule = "K4" // the live GET answers 404
	K5 Rule = "K5" // the live GET fails otherwise
	K6 Rule = "K6" // the live GET finds another uid
	K7 Rule = "K7" // the owner waits for its dependents' deletion
	K8 Rule = "K8" // the owner is there

	R01 Rule = "R01" // no references
	R02 Rule = "R02" // a type that the collector does not monitor
	R03 Rule = "R03" // already being deleted
	R04 Rule = "R04" // being deleted in the foreground
	R05 Rule = "R05" // a reference of bad scope
	R06 Rule = "R06" // a reference that cannot be judged now
	R07 Rule = "R07" // only solid references
	R08 Rule = "R08" // solid references and others
	R09 Rule = "R09" // no solid one, a waiting one, and dependents
	R10 Rule = "R10" // no solid one, a waiting one, no dependents
	R11 Rule = "R11" // only absent owners
	R12 Rule = "R12" // the object's finalizers choose the policy
	R13 Rule = "R13" // the owner lives in another namespace
	R14 Rule = "R14" // the owner's type was removed
	R15 Rule = "R15" // the uid is right, kind, name or group is not
	R16 Rule = "R16" // one uid, listed twice, one entry wrong
	R17 Rule = "R17" // nothing triggers the verdict now
	R18 Rule = "R18" // a reference to itself
	R19 Rule = "R19" // a cycle
	R20 Rule = "R20" // an owner of a type that is not monitored

	R21 Rule = "R21" // things change between prediction and action

	F1  Rule = "F1"  // which policy a DELETE gets
	F2  Rule = "F2"  // foreground deletion queues all dependents
	F3  Rule = "F3"  // the owner is released when nothing blocks it
	F4  Rule = "F4"  // background deletion ignores blockOwnerDeletion
	F5  Rule = "F5"  // deadlock: cluster-scoped blocking dependent
	F6  Rule = "F6"  // deadlock: blocking reference to itself
	F7  Rule = "F7"  // deadlock: blocking dependent with an unresolvable reference
	F8  Rule = "F8"  // blocking dependent in another namespace
	F9  Rule = "F9"  // orphaning drops the reference everywhere
	F10 Rule = "F10" // a DELETE may add a finalizer to a terminating object
	F11 Rule = "F11" // a second DELETE in the background takes them off
	F12 Rule = "F12" // the last finalizer goes, and so does the object

	N0 Rule = "N" // a namespace takes its contents along

	D1 Rule = "D1" // a version that vanished: absent for up to half a minute
	D2 Rule = "D2" // cached as absent although it is served again
	D3 Rule = "D3" // cached as absent, but nothing queues the dependent
)
