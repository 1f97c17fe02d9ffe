package auditlog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Type is a type as the log has it.
type Type struct {
	Resource schema.GroupVersionResource

	// Kind is "" if the log does not hold the kind.
	Kind       string
	Namespaced bool
}

// Type returns the type that a word names: TYPE, TYPE.GROUP or TYPE.VERSION.GROUP, in the
// plural, the singular or as the kind. It is for what nobody can be asked any more: a type
// that is not served, or a server that does not answer. Of several types of that name the one
// counts that had an object of the name.
func (l *Log) Type(ctx context.Context, word, name string) (Type, error) {
	s := newTypeSearch(word, name)
	if err := l.each(ctx, s.matches, s.see); err != nil {
		return Type{}, err
	}
	return s.found()
}

// shortNames are those of the types of which deletions are asked about most: whoever has no
// server to ask has no others.
var shortNames = map[string]string{
	"cm": "configmaps", "crd": "customresourcedefinitions", "deploy": "deployments", "ds": "daemonsets", "ing": "ingresses",
	"ns": "namespaces", "po": "pods", "pv": "persistentvolumes", "pvc": "persistentvolumeclaims", "rs": "replicasets",
	"sa": "serviceaccounts", "sts": "statefulsets", "svc": "services", "ts": "teamspaces",
}

// typeSearch looks for a type in one reading of the log.
type typeSearch struct {
	word   string
	names  []string // that the resource may have
	group  string   // with or without a version; "" for any
	object string

	types map[schema.GroupResource]*foundType
}

// foundType is what the log tells of a type.
type foundType struct {
	version, kind string
	unscoped      bool // an object of it was in no namespace
	named         bool // it had an object of the name
}

func newTypeSearch(word, name string) *typeSearch {
	first, group, _ := strings.Cut(strings.ToLower(word), ".")
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: first})
	s := &typeSearch{word: word, names: []string{first, plural.Resource}, group: group, object: name, types: map[schema.GroupResource]*foundType{}}
	if long, ok := shortNames[first]; ok {
		s.names = append(s.names, long)
	}
	return s
}

func (s *typeSearch) matches(line []byte) bool {
	return slices.ContainsFunc(s.names, func(name string) bool {
		return bytes.Contains(line, []byte(`"resource":"`+name+`"`)) || bytes.Contains(line, []byte(`"name":"`+name+`.`))
	})
}

func (s *typeSearch) see(e *event) {
	if e.succeeded() && e.Object.Resource == "customresourcedefinitions" {
		s.seeDefinition(e)
	}
	if e.succeeded() && s.calls(e.Object.Resource) && s.isGroup(e.Object.Group, e.Object.APIVersion) {
		s.seeRequest(e)
	}
}

func (s *typeSearch) calls(resource string) bool { return slices.Contains(s.names, resource) }

// isGroup reports whether the word means that group, also with a version before it.
func (s *typeSearch) isGroup(group, version string) bool {
	return s.group == "" || s.group == group || s.group == strings.TrimSuffix(version+"."+group, ".")
}

func (s *typeSearch) of(resource schema.GroupResource) *foundType {
	if s.types[resource] == nil {
		s.types[resource] = &foundType{}
	}
	return s.types[resource]
}

func (s *typeSearch) seeRequest(e *event) {
	found := s.of(schema.GroupResource{Group: e.Object.Group, Resource: e.Object.Resource})
	found.version = cmp.Or(e.Object.APIVersion, found.version)
	if e.Object.Subresource != "" || e.Object.Name == "" {
		return
	}
	found.named = found.named || e.Object.Name == s.object
	found.unscoped = found.unscoped || e.Object.Namespace == "" || e.Object.Resource == "namespaces" && e.Object.Group == ""
	if answer, ok := e.after(); ok && !strings.HasPrefix(answer.Kind, "PartialObjectMetadata") {
		found.kind = cmp.Or(answer.Kind, found.kind)
	}
}

// seeDefinition reads what the log holds of the definition of a type.
func (s *typeSearch) seeDefinition(e *event) {
	resource := schema.ParseGroupResource(e.Object.Name)
	_, unversioned, _ := strings.Cut(s.group, ".")
	if !s.calls(resource.Resource) || s.group != resource.Group && s.group != "" && unversioned != resource.Group {
		return
	}
	found := s.of(resource)
	for _, raw := range []json.RawMessage{e.Response, e.Request} {
		var definition struct {
			Spec struct {
				Scope string `json:"scope"`
				Names struct {
					Kind string `json:"kind"`
				} `json:"names"`
			} `json:"spec"`
		}
		if len(raw) > 0 && json.Unmarshal(raw, &definition) == nil {
			found.kind = cmp.Or(definition.Spec.Names.Kind, found.kind)
			found.unscoped = found.unscoped || definition.Spec.Scope == "Cluster"
		}
	}
}

// found is the one type that the word means.
func (s *typeSearch) found() (Type, error) {
	all := slices.SortedFunc(maps.Keys(s.types), func(a, b schema.GroupResource) int { return cmp.Compare(a.String(), b.String()) })
	named := slices.DeleteFunc(slices.Clone(all), func(r schema.GroupResource) bool { return !s.types[r].named })
	if len(named) > 0 {
		all = named
	}
	switch len(all) {
	case 0:
		return Type{}, fmt.Errorf("the audit log does not tell of a type %q", s.word)
	case 1:
		found := s.types[all[0]]
		return Type{Resource: all[0].WithVersion(found.version), Kind: found.kind, Namespaced: !found.unscoped}, nil
	default:
		return Type{}, fmt.Errorf("%q may be any of the types %v in the audit log: name it with its group", s.word, all)
	}
}
