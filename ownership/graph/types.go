package graph

import (
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Serving says how the API server serves one version of a kind, and what the
// collector's own mapping may make of it. The zero value is "not served".
type Serving uint8

const (
	// NotServed is a version that no mapping knows (K2): a reference to it is
	// unresolvable.
	NotServed Serving = iota
	// Served is a version that is served now and was all the time.
	Served
	// ServedAgain is served now but was not for a while since the collector
	// started: what the collector cached as absent then stays absent until it
	// restarts (D2).
	ServedAgain
	// VanishedRecently was served until less than half a minute ago: the
	// collector may still have the old mapping, read 404 and take the owner
	// for absent (D1).
	VanishedRecently
	// VanishedEarlier was served since the collector started: owners of it may
	// still be in the collector's absent-owner cache (K1, R14).
	VanishedEarlier
)

// String names the state as the notation for graphs writes it.
func (s Serving) String() string {
	switch s {
	case Served:
		return "served"
	case ServedAgain:
		return "served-again"
	case VanishedRecently:
		return "vanished-recently"
	case VanishedEarlier:
		return "vanished-earlier"
	default:
		return "not-served"
	}
}

// Type is what has to be known of one version of a kind.
type Type struct {
	APIVersion string
	Kind       string
	Namespaced bool
	Serving    Serving
	// Unmonitored types are not observed by the collector (R02, R20): the
	// preferred version cannot be listed, watched or deleted, the type is
	// `events`, or its informer never synced.
	Unmonitored bool
	// Unreadable types answer a GET of the collector with an error that is not
	// 404 (K5).
	Unreadable bool
	// OrphansByDefault types orphan their dependents when a DELETE names no
	// policy (F1: batch/v1 Job and v1 ReplicationController).
	OrphansByDefault bool
	// IgnoresPolicy types take no part in propagation at all: a DELETE never
	// gives them foregroundDeletion or orphan (Event).
	IgnoresPolicy bool
}

// GroupKind returns the group and kind of the type.
func (t Type) GroupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(t.APIVersion, t.Kind).GroupKind()
}

// Mapping is what the collector's mapper makes of an apiVersion and a kind.
type Mapping struct {
	// Type is the type that they resolve to, its kind in the right spelling.
	// It is the zero Type when nothing of that name is known.
	Type Type
	// NoResource is set for the kinds that resolve to a resource which does
	// not exist, `List` and `<Kind>List`: every GET answers 404 (K2-names).
	NoResource bool
}

// Resolves reports whether the mapper surely knows the type now.
func (m Mapping) Resolves() bool {
	return m.Type.Serving == Served || m.Type.Serving == ServedAgain
}

// Types is the set of types of a cluster. It is not changed after NewTypes and
// may be shared.
type Types struct {
	byName map[typeName]Type
	// lists holds the group versions that serve something: there `List` is a
	// kind too.
	lists map[string]bool
	// byKind groups the types that can be suggested, by kind in lower case.
	byKind map[string][]Type
}

type typeName struct{ apiVersion, kind string }

// NewTypes makes the set. A type that is given twice counts as given last.
func NewTypes(types ...Type) *Types {
	t := &Types{
		byName: make(map[typeName]Type, 2*len(types)),
		lists:  map[string]bool{},
		byKind: map[string][]Type{},
	}
	for _, v := range types {
		// The mapper knows a kind in lower case too; a proper kind wins.
		lower := typeName{v.APIVersion, strings.ToLower(v.Kind)}
		if _, proper := t.byName[lower]; !proper {
			t.byName[lower] = v
		}
	}
	for _, v := range types {
		t.byName[typeName{v.APIVersion, v.Kind}] = v
		if v.Serving == Served || v.Serving == ServedAgain {
			t.lists[v.APIVersion] = true
		}
	}
	for name, v := range t.byName {
		if name.kind == v.Kind && t.lists[v.APIVersion] && v.Serving != NotServed {
			key := strings.ToLower(v.Kind)
			t.byKind[key] = append(t.byKind[key], v)
		}
	}
	for _, found := range t.byKind {
		sort.Slice(found, func(i, j int) bool { return found[i].APIVersion < found[j].APIVersion })
	}
	return t
}

// Resolve does what the collector's mapper does: the exact version must be
// known, a kind in lower case is found, and so are `List` and `<Kind>List`. "/v1" is an
// empty group and a version, as "v1" is.
func (t *Types) Resolve(apiVersion, kind string) Mapping {
	if group, version, found := strings.Cut(apiVersion, "/"); found && group == "" {
		apiVersion = version
	}
	if found, ok := t.byName[typeName{apiVersion, kind}]; ok {
		return Mapping{Type: found}
	}
	if base, ok := strings.CutSuffix(kind, "List"); ok && base != "" {
		if found, ok := t.byName[typeName{apiVersion, base}]; ok && found.Kind == base {
			return Mapping{Type: found, NoResource: true}
		}
	}
	if kind == "List" && t.lists[apiVersion] {
		return Mapping{Type: Type{APIVersion: apiVersion, Kind: kind, Serving: Served}, NoResource: true}
	}
	return Mapping{}
}

// Suggest returns the served types that have the kind, in whatever spelling,
// sorted by apiVersion: what somebody may have meant who wrote an apiVersion
// that does not have it (P12).
func (t *Types) Suggest(kind string) []Type {
	var served []Type
	for _, v := range t.byKind[strings.ToLower(kind)] {
		if v.Serving == Served || v.Serving == ServedAgain {
			served = append(served, v)
		}
	}
	return served
}

// All returns every type, sorted by apiVersion and kind.
func (t *Types) All() []Type {
	all := make([]Type, 0, len(t.byName))
	for name, v := range t.byName {
		if name.kind == v.Kind {
			all = append(all, v)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].APIVersion != all[j].APIVersion {
			return all[i].APIVersion < all[j].APIVersion
		}
		return all[i].Kind < all[j].Kind
	})
	return all
}
