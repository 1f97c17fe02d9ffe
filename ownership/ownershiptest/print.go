package ownershiptest

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// Print writes a graph in the notation, objects in the order of the graph.
// Parse reads the same graph back.
func Print(g *graph.Graph) string {
	var b strings.Builder
	known := map[graph.Type]bool{}
	for _, t := range Types() {
		known[t] = true
	}
	for _, t := range g.Types().All() {
		if !known[t] {
			fmt.Fprintf(&b, "type %s\n", printType(t))
		}
	}
	p := newPrinter(g)
	for id := range graph.ID(g.Len()) {
		o := g.Object(id)
		fmt.Fprintln(&b, p.object(o, rules.State{
			Exists: true, Deleting: o.Deleting, Finalizers: o.Finalizers, Owners: o.Owners,
		}))
	}
	return b.String()
}

// PrintState writes one object of the graph in the notation, in another state
// than the graph has it in.
func PrintState(g *graph.Graph, id graph.ID, s rules.State) string {
	return newPrinter(g).object(g.Object(id), s)
}

func printType(t graph.Type) string {
	list := []string{quote(t.APIVersion), quote(t.Kind), t.Serving.String()}
	for _, trait := range traits {
		if *trait.field(&t) {
			list = append(list, trait.name)
		}
	}
	return strings.Join(list, " ")
}

type printer struct {
	kinds kinds
	uids  uids
}

func newPrinter(g *graph.Graph) printer {
	p := printer{kinds: kindsOf(append(Types(), g.Types().All()...)), uids: uids{}}
	for id := range graph.ID(g.Len()) {
		_, kind, _ := g.Kind(id)
		p.uids.add(kind, g.Namespace(id), g.Name(id), g.UID(id))
	}
	return p
}

func (p printer) object(o graph.Object, s rules.State) string {
	parts := []string{p.kind(o.APIVersion, o.Kind), quote(joinName(o.Namespace, o.Name))}
	if o.UID != defaultUID(o.Kind, o.Namespace, o.Name) {
		parts = append(parts, "="+quote(string(o.UID)))
	}
	if !s.Exists {
		return strings.Join(append(parts, "gone"), " ")
	}
	if s.Deleting {
		parts = append(parts, "dying")
	}
	if o.Marked {
		parts = append(parts, "marked")
	}
	if len(s.Finalizers) > 0 {
		parts = append(parts, "["+printFinalizers(s.Finalizers)+"]")
	}
	var refs []string
	for _, ref := range s.Owners {
		refs = append(refs, p.reference(o.Namespace, ref))
	}
	if len(refs) > 0 {
		parts = append(parts, "->", strings.Join(refs, "; "))
	}
	return strings.Join(parts, " ")
}

func printFinalizers(list []string) string {
	short := make([]string, len(list))
	for i, f := range list {
		switch f {
		case metav1.FinalizerDeleteDependents:
			short[i] = "fg"
		case "fg":
			short[i] = `"fg"`
		default:
			short[i] = quote(f)
		}
	}
	return strings.Join(short, " ")
}

func (p printer) reference(namespace string, ref metav1.OwnerReference) string {
	parts := []string{p.kind(ref.APIVersion, ref.Kind), quote(ref.Name)}
	if ref.UID != p.uids.meant(ref.Kind, namespace, ref.Name) {
		parts = append(parts, "="+quote(string(ref.UID)))
	}
	for _, flag := range []struct {
		value *bool
		name  string
	}{{ref.BlockOwnerDeletion, "b"}, {ref.Controller, "c"}} {
		if flag.value != nil && *flag.value {
			parts = append(parts, "+"+flag.name)
		} else if flag.value != nil {
			parts = append(parts, "-"+flag.name)
		}
	}
	return strings.Join(parts, " ")
}

func (p printer) kind(apiVersion, kind string) string {
	if known, ok := p.kinds[kind]; ok && known == apiVersion && !strings.Contains(kind, ":") {
		return quote(kind)
	}
	return quote(kind + ":" + apiVersion)
}

func joinName(namespace, name string) string {
	if namespace == "" && !strings.Contains(name, "/") {
		return name
	}
	return namespace + "/" + name
}
