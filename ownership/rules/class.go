package rules

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
)

// Class is what the collector takes a reference for.
type Class uint8

// The classes of a reference. Unresolvable, BadScope and Unknown are errors to
// the collector: the first one in list order ends its look at the object.
const (
	Solid Class = 1 << iota
	Absent
	Waiting
	Unresolvable
	BadScope
	Unknown
)

const errorClasses = Classes(Unresolvable | BadScope | Unknown)

// String returns the collector's word for the class.
func (c Class) String() string {
	switch c {
	case Solid:
		return "solid"
	case Absent:
		return "absent"
	case Waiting:
		return "waiting"
	case Unresolvable:
		return "unresolvable"
	case BadScope:
		return "bad scope"
	case Unknown:
		return "unknown"
	default:
		return "unclassified"
	}
}

// Classes is a set of classes.
type Classes uint8

// Has reports whether the class is in the set.
func (s Classes) Has(c Class) bool { return uint8(s)&uint8(c) != 0 }

// List returns the classes of the set in their declared order.
func (s Classes) List() []Class {
	var list []Class
	for c := Solid; c <= Unknown; c <<= 1 {
		if s.Has(c) {
			list = append(list, c)
		}
	}
	return list
}

// Answer is what a live GET of the owner brought.
type Answer uint8

const (
	// Failed is an error that is not 404, and also a GET that could not be
	// made: nothing is known.
	Failed Answer = iota
	// NotFound is 404.
	NotFound
	// Found is an object; Facts says which.
	Found
)

// Facts is what is known of the owner that one reference names. The GET is by
// kind and name, in the dependent's namespace for a namespaced kind.
type Facts struct {
	Mapping graph.Mapping
	// Cached says that the coordinates are known to be in the collector's
	// absent-owner cache. Nobody outside the collector can see that; tests can
	// arrange it.
	Cached     bool
	Answer     Answer
	UID        types.UID
	Deleting   bool
	Finalizers []string
}

// Classification is the class of a reference and the row that gave it.
type Classification struct {
	Class Class
	Rule  Rule
	// Possible holds all classes that the collector may come to, Class among
	// them. It has more than one member only where the collector's memory
	// decides, which nobody outside can see.
	Possible Classes
	// Doubt is the row that adds the further members of Possible.
	Doubt Rule
}

// Deterministic reports whether only one class is possible.
func (c Classification) Deterministic() bool { return c.Possible == Classes(c.Class) }

// Where is where the collector looks for an owner of the type that an object in the
// namespace ("" for a cluster-scoped object) names: in the same namespace, or in none
// (K4). It reports false where it does not look at all: a cluster-scoped object cannot
// have a namespaced owner (K3).
func Where(namespace string, owner graph.Type) (string, bool) {
	if !owner.Namespaced {
		return "", true
	}
	return namespace, namespace != ""
}

// Classify judges one reference of an object in the given namespace ("" for a
// cluster-scoped object), by rows K1 to K8 in their order.
func Classify(namespace string, ref metav1.OwnerReference, f Facts) Classification {
	if f.Cached {
		return only(Absent, K1)
	}
	t := f.Mapping.Type
	_, scoped := Where(namespace, t)
	badScope := !scoped
	switch t.Serving {
	case graph.NotServed:
		return only(Unresolvable, K2)
	case graph.VanishedRecently:
		c := only(Unresolvable, K2)
		if badScope {
			return c.or(BadScope, D1)
		}
		return c.or(Absent, D1)
	case graph.VanishedEarlier:
		return only(Unresolvable, K2).or(Absent, R14)
	}
	if badScope {
		return only(BadScope, K3)
	}
	c := classifyAnswer(ref, f)
	if t.Serving == graph.ServedAgain {
		return c.or(Absent, D2)
	}
	return c
}

func classifyAnswer(ref metav1.OwnerReference, f Facts) Classification {
	switch {
	case f.Mapping.NoResource:
		return only(Absent, K4)
	case f.Mapping.Type.Unreadable || f.Answer == Failed:
		return only(Unknown, K5)
	case f.Answer == NotFound:
		return only(Absent, K4)
	case f.UID != ref.UID:
		return only(Absent, K6)
	case f.Deleting && slices.Contains(f.Finalizers, metav1.FinalizerDeleteDependents):
		return only(Waiting, K7)
	default:
		return only(Solid, K8)
	}
}

func only(c Class, r Rule) Classification {
	return Classification{Class: c, Rule: r, Possible: Classes(c)}
}

func (c Classification) or(other Class, doubt Rule) Classification {
	if !c.Possible.Has(other) {
		c.Possible |= Classes(other)
		c.Doubt = doubt
	}
	return c
}

// ImpossibleName reports whether no object can have the name, of whatever type: what
// cannot be a segment of a URL's path. A GET for it asks for something else.
func ImpossibleName(name string) bool {
	return name == "." || name == ".." || strings.ContainsAny(name, "/%")
}

// ImpossibleKind reports whether no type can ever have this kind: in lower
// case it is not a DNS label that starts with a letter, as the kind of every
// type is. Go type names and printed GroupVersionKinds end up in references
// that way (P12).
func ImpossibleKind(kind string) bool {
	if kind == "" || len(kind) > 63 || strings.HasSuffix(kind, "-") {
		return true
	}
	for i, c := range strings.ToLower(kind) {
		letter := 'a' <= c && c <= 'z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return true
		}
	}
	return false
}

// builtInGroups are the groups that the API server itself serves: a kind that
// it does not have there, it never will have.
var builtInGroups = []string{
	"", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps",
	"authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io",
	"coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "extensions", "flowcontrol.apiserver.k8s.io",
	"internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "policy", "rbac.authorization.k8s.io",
	"resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
}

// BuiltInGroup reports whether the API server itself serves the group of the
// apiVersion, so that a kind missing there is missing for good (P12).
func BuiltInGroup(apiVersion string) bool {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		group = ""
	}
	return slices.Contains(builtInGroups, group)
}
