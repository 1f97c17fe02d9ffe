// Package ownershiptest is a short text notation for ownership graphs, and a
// runner for golden files written in it, so that a reviewer reads twenty cases
// on a screen.
//
// One line is one object, a type, or something that happens:
//
//	type acme.example/v2 Widget namespaced vanished-recently
//	Widget a/w [hold]
//	ConfigMap a/c dying [hold fg] -> Widget w +b; Widget ghost =none
//	ClusterRole r -> Widget w =Widget/a/w
//	delete foreground Widget a/w
//	restart
//
// An object is its kind and its name, after its namespace and a slash if it has
// one. `dying` sets a deletionTimestamp, `marked` says that the collector saw it
// wait before, brackets hold its finalizers (`fg` and `orphan` are the
// collector's own), and the references follow the arrow. A reference is a kind
// and a name; it takes the uid of the object of that name in the dependent's
// namespace or without one, or the uid after the equals sign. +b and +c set
// blockOwnerDeletion and controller, -b and -c set them to false.
//
// A kind means the apiVersion that Types gives for it; another is written
// behind a colon: Widget:acme.example/v1beta1. The uid of an object is made of
// its kind, namespace and name (Widget/a/w), unless the line says =uid. Words
// with blanks, semicolons or brackets in them are quoted as in Go. Lines that
// start with # are prose.
//
// What happens is `restart`, `create OBJECT`, and `delete POLICY OBJECT` with
// background, foreground, orphan, or default for a DELETE without options.
package ownershiptest
