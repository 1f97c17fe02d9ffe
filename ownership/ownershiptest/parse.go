package ownershiptest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// ErrNotation is the error of text that is not in the notation.
var ErrNotation = errors.New("not in the notation for graphs")

// Scenario is a graph and what happens to it.
type Scenario struct {
	// Prose are the comment lines, without their signs.
	Prose  []string
	Graph  *graph.Graph
	Events []rules.Event
	// Steps are the events as they are written.
	Steps []string
}

// Predict predicts the scenario.
func (s *Scenario) Predict() *rules.Prediction { return rules.Predict(s.Graph, s.Events...) }

// Find returns the object that is written like this, "Widget a/w".
func (s *Scenario) Find(object string) (graph.ID, bool) {
	ws, err := words(object)
	if err != nil || len(ws) != 2 {
		return graph.None, false
	}
	return find(s.Graph, ws[0].text, ws[1].text)
}

func find(g *graph.Graph, kindText, nameText string) (graph.ID, bool) {
	k, apiVersion, _ := strings.Cut(kindText, ":")
	namespace, name := splitName(nameText)
	for id := range graph.ID(g.Len()) {
		objectAPIVersion, objectKind, _ := g.Kind(id)
		if objectKind == k && (apiVersion == "" || apiVersion == objectAPIVersion) &&
			g.Namespace(id) == namespace && g.Name(id) == name {
			return id, true
		}
	}
	return graph.None, false
}

// Parse reads a scenario.
func Parse(text string) (*Scenario, error) {
	p := parser{s: &Scenario{}, types: Types(), uids: uids{}}
	for i, line := range strings.Split(text, "\n") {
		if err := p.line(strings.TrimSpace(line)); err != nil {
			return nil, fmt.Errorf("line %d, %q: %w", i+1, line, err)
		}
	}
	return p.end()
}

type parser struct {
	s       *Scenario
	types   []graph.Type
	objects [][]word
	steps   [][]word
	uids    uids
	kinds   kinds
}

func (p *parser) line(line string) error {
	if prose, ok := strings.CutPrefix(line, "#"); ok {
		p.s.Prose = append(p.s.Prose, strings.TrimPrefix(prose, " "))
		return nil
	}
	ws, err := words(line)
	if err != nil || len(ws) == 0 {
		return err
	}
	switch {
	case ws[0].is("type"):
		return p.typeLine(ws[1:])
	case ws[0].is("restart"), ws[0].is("create"), ws[0].is("delete"):
		p.s.Steps = append(p.s.Steps, line)
		p.steps = append(p.steps, ws)
	default:
		p.objects = append(p.objects, ws)
	}
	return nil
}

func (p *parser) typeLine(ws []word) error {
	if len(ws) < 2 {
		return fmt.Errorf("reading a type without apiVersion and kind: %w", ErrNotation)
	}
	t := graph.Type{APIVersion: ws[0].text, Kind: ws[1].text, Serving: graph.Served}
	for _, w := range ws[2:] {
		if err := setTrait(&t, w.text); err != nil {
			return err
		}
	}
	p.types = append(p.types, t)
	return nil
}

func setTrait(t *graph.Type, trait string) error {
	for _, serving := range servings {
		if serving.String() == trait {
			t.Serving = serving
			return nil
		}
	}
	for _, known := range traits {
		if known.name == trait {
			*known.field(t) = true
			return nil
		}
	}
	return fmt.Errorf("reading the trait %q of a type: %w", trait, ErrNotation)
}

var servings = []graph.Serving{
	graph.NotServed, graph.Served, graph.ServedAgain, graph.VanishedRecently, graph.VanishedEarlier,
}

var traits = []struct {
	name  string
	field func(*graph.Type) *bool
}{
	{"namespaced", func(t *graph.Type) *bool { return &t.Namespaced }},
	{"unmonitored", func(t *graph.Type) *bool { return &t.Unmonitored }},
	{"unreadable", func(t *graph.Type) *bool { return &t.Unreadable }},
	{"orphans", func(t *graph.Type) *bool { return &t.OrphansByDefault }},
	{"ignores-policy", func(t *graph.Type) *bool { return &t.IgnoresPolicy }},
}

// end builds the graph, now that all names are known.
func (p *parser) end() (*Scenario, error) {
	p.kinds = kindsOf(p.types)
	objects := make([]graph.Object, len(p.objects))
	for i, ws := range p.objects {
		rest, err := p.head(&objects[i], ws)
		if err != nil {
			return nil, fmt.Errorf("reading object %d: %w", i+1, err)
		}
		p.objects[i] = rest
	}
	b := graph.NewBuilder(graph.NewTypes(p.types...))
	for i := range objects {
		if err := p.references(&objects[i], p.objects[i]); err != nil {
			return nil, fmt.Errorf("reading references of %s %q: %w", objects[i].Kind, objects[i].Name, err)
		}
		if err := b.Add(objects[i]); err != nil {
			return nil, err
		}
	}
	p.s.Graph = b.Graph()
	for _, ws := range p.steps {
		event, err := p.event(ws)
		if err != nil {
			return nil, err
		}
		p.s.Events = append(p.s.Events, event)
	}
	return p.s, nil
}

// head reads an object up to its references and returns those.
func (p *parser) head(o *graph.Object, ws []word) ([]word, error) {
	if len(ws) < 2 {
		return nil, fmt.Errorf("reading an object without a name: %w", ErrNotation)
	}
	o.APIVersion, o.Kind = p.kind(ws[0])
	o.Namespace, o.Name = splitName(ws[1].text)
	o.UID = defaultUID(o.Kind, o.Namespace, o.Name)
	ws = ws[2:]
	for len(ws) > 0 && !ws[0].is("->") {
		w := ws[0]
		ws = ws[1:]
		switch {
		case w.is("dying"):
			o.Deleting = true
		case w.is("marked"):
			o.Marked = true
		case w.is("["):
			end := slices.IndexFunc(ws, func(w word) bool { return w.is("]") })
			if end < 0 {
				return nil, fmt.Errorf("reading finalizers without an end: %w", ErrNotation)
			}
			o.Finalizers = readFinalizers(ws[:end])
			ws = ws[end+1:]
		case !w.quoted && strings.HasPrefix(w.text, "="):
			o.UID = types.UID(w.text[1:])
		default:
			return nil, fmt.Errorf("reading %q of an object: %w", w.text, ErrNotation)
		}
	}
	p.uids.add(o.Kind, o.Namespace, o.Name, o.UID)
	return ws, nil
}

func readFinalizers(ws []word) []string {
	var list []string
	for _, w := range ws {
		switch {
		case w.is("fg"):
			list = append(list, metav1.FinalizerDeleteDependents)
		default:
			list = append(list, w.text)
		}
	}
	return list
}

func (p *parser) references(o *graph.Object, ws []word) error {
	for len(ws) > 0 {
		end := slices.IndexFunc(ws[1:], func(w word) bool { return w.is(";") }) + 1
		if end == 0 {
			end = len(ws)
		}
		ref, err := p.reference(o.Namespace, ws[1:end])
		if err != nil {
			return err
		}
		o.Owners = append(o.Owners, ref)
		ws = ws[end:]
	}
	return nil
}

func (p *parser) reference(namespace string, ws []word) (metav1.OwnerReference, error) {
	var ref metav1.OwnerReference
	if len(ws) < 2 {
		return ref, fmt.Errorf("reading a reference without kind and name: %w", ErrNotation)
	}
	ref.APIVersion, ref.Kind = p.kind(ws[0])
	ref.Name = ws[1].text
	ref.UID = p.uids.meant(ref.Kind, namespace, ref.Name)
	for _, w := range ws[2:] {
		value := strings.HasPrefix(w.text, "+")
		switch {
		case w.is("+b"), w.is("-b"):
			ref.BlockOwnerDeletion = &value
		case w.is("+c"), w.is("-c"):
			ref.Controller = &value
		case !w.quoted && strings.HasPrefix(w.text, "="):
			ref.UID = types.UID(w.text[1:])
		default:
			return ref, fmt.Errorf("reading %q of a reference: %w", w.text, ErrNotation)
		}
	}
	return ref, nil
}

// uids are the uids of objects by what defaultUID makes of their coordinates.
type uids map[types.UID]types.UID

func (u uids) add(kind, namespace, name string, uid types.UID) {
	u[defaultUID(kind, namespace, name)] = uid
}

// meant is the uid that a reference has if it does not say one: that of the
// object of that name beside the dependent, or without a namespace, or else one
// that does not exist.
func (u uids) meant(kind, namespace, name string) types.UID {
	for _, ns := range []string{namespace, ""} {
		if uid, ok := u[defaultUID(kind, ns, name)]; ok {
			return uid
		}
	}
	return defaultUID(kind, namespace, name)
}

func (p *parser) kind(w word) (apiVersion, kind string) {
	kind, apiVersion, found := strings.Cut(w.text, ":")
	if !found {
		return p.kinds[w.text], w.text
	}
	return apiVersion, kind
}

func (p *parser) event(ws []word) (rules.Event, error) {
	if ws[0].is("restart") && len(ws) == 1 {
		return rules.Restarted(), nil
	}
	policy := metav1.DeletionPropagation("")
	verb := ws[0]
	if verb.is("delete") && len(ws) > 1 {
		known, ok := policies[ws[1].text]
		if !ok {
			return rules.Event{}, fmt.Errorf("reading the policy %q: %w", ws[1].text, ErrNotation)
		}
		policy, ws = known, ws[1:]
	}
	if len(ws) != 3 || verb.is("restart") {
		return rules.Event{}, fmt.Errorf("reading what %q does: %w", verb.text, ErrNotation)
	}
	id, ok := find(p.s.Graph, ws[1].text, ws[2].text)
	if !ok {
		return rules.Event{}, fmt.Errorf("finding %s %s: %w", ws[1].text, ws[2].text, ErrNotation)
	}
	if verb.is("create") {
		return rules.Created(id), nil
	}
	return rules.Deleted(policy, id), nil
}

var policies = map[string]metav1.DeletionPropagation{
	"background": metav1.DeletePropagationBackground,
	"foreground": metav1.DeletePropagationForeground,
	"orphan":     metav1.DeletePropagationOrphan,
	"default":    "",
}

func splitName(text string) (namespace, name string) {
	if ns, name, found := strings.Cut(text, "/"); found {
		return ns, name
	}
	return "", text
}

func defaultUID(kind, namespace, name string) types.UID {
	if namespace == "" {
		return types.UID(kind + "/" + name)
	}
	return types.UID(kind + "/" + namespace + "/" + name)
}
