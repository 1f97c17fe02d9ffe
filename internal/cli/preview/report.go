package preview

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// Report says what a deletion would bring about.
type Report struct {
	Targets []document.Object          `json:"targets"`
	Cascade metav1.DeletionPropagation `json:"cascade"`

	// Refused are the targets whose deletion the API server would not let through; what the
	// rest of the report says of them holds if it did.
	Refused []Refusal `json:"refused"`

	// Order is what happens to these objects, step by step; where the order is open, one that
	// may be.
	Order []Step `json:"order"`

	// Each object that the deletion may reach is in exactly one of these lists.
	Deleted          []Fate `json:"deleted"`
	Kept             []Fate `json:"kept"`
	Pruned           []Fate `json:"pruned"`
	Orphaned         []Fate `json:"orphaned"`
	Blocked          []Fate `json:"blocked"`
	Waiting          []Fate `json:"waiting"`
	NonDeterministic []Fate `json:"nonDeterministic"`

	// Afterwards are those of the lists before that go, too, once finalizers are taken off:
	// those that Waiting waits for, and those on what would be deleted then.
	Afterwards []Later `json:"afterwards"`

	// Notes say what is known beyond the rules of the collector.
	Notes []string `json:"notes"`

	Incomplete []inventory.Incomplete `json:"incomplete"`
	Summary    Summary                `json:"summary"`
}

// Step is one thing that happens.
type Step struct {
	Rule    rules.Rule      `json:"rule"`
	Verb    string          `json:"verb"`
	Object  document.Object `json:"object"`
	Message string          `json:"message"`
}

// Fate is how an object ends, and why.
type Fate struct {
	Object  document.Object `json:"object"`
	Rule    rules.Rule      `json:"rule,omitempty"`
	Message string          `json:"message"`
}

// Summary counts the lists.
type Summary struct {
	Deleted          int `json:"deleted"`
	Kept             int `json:"kept"`
	Pruned           int `json:"pruned"`
	Orphaned         int `json:"orphaned"`
	Blocked          int `json:"blocked"`
	Waiting          int `json:"waiting"`
	NonDeterministic int `json:"nonDeterministic"`
	Afterwards       int `json:"afterwards"`
	Refused          int `json:"refused"`
	Incomplete       int `json:"incomplete"`
}

func (d *deletion) report(refused []Refusal, incomplete []inventory.Incomplete) *Report {
	r := &Report{
		Cascade: d.policy, Refused: append([]Refusal{}, refused...), Incomplete: append([]inventory.Incomplete{}, incomplete...),
	}
	for _, id := range d.targets {
		r.Targets = append(r.Targets, document.ObjectOf(d.graph, id))
	}
	r.Order = []Step{}
	for _, e := range d.prediction.Effects() {
		if d.reaches[e.Object] {
			r.Order = append(r.Order, d.step(e))
		}
	}
	for _, list := range r.lists() {
		*list.fates = []Fate{}
	}
	for _, id := range d.reached {
		name, fate := d.fate(id)
		for _, list := range r.lists() {
			if list.name == name {
				*list.fates = append(*list.fates, fate)
			}
		}
	}
	r.Afterwards = d.afterwards()
	r.Notes = []string{}
	if len(d.spared) > 0 {
		r.Notes = append(r.Notes, letGoNote)
	}
	for _, list := range r.lists() {
		slices.SortFunc(*list.fates, func(a, b Fate) int { return document.Compare(a.Object, b.Object) })
	}
	r.Summary = Summary{
		Deleted: len(r.Deleted), Kept: len(r.Kept), Pruned: len(r.Pruned), Orphaned: len(r.Orphaned), Blocked: len(r.Blocked),
		Waiting: len(r.Waiting), NonDeterministic: len(r.NonDeterministic), Afterwards: len(r.Afterwards),
		Refused: len(r.Refused), Incomplete: len(r.Incomplete),
	}
	return r
}

func (d *deletion) step(e rules.Effect) Step {
	step := Step{
		Rule: e.Rule, Verb: e.Verb.String(), Object: document.ObjectOf(d.graph, e.Object), Message: explain.Effect(d.prediction, e),
	}
	if e.Verb == rules.Removed && len(d.instances[e.Object]) > 0 {
		step.Rule, step.Verb = "E7", rules.Terminating.String()
		step.Message = explain.Name(d.graph, e.Object) + " is marked as being deleted, and goes after the last object of its kind"
	}
	return step
}

// The names of the fates, as people read them.
const (
	fateDeleted  = "deleted"
	fateKept     = "kept"
	fatePruned   = "pruned"
	fateOrphaned = "orphaned"
	fateBlocked  = "blocked"
	fateWaiting  = "waiting"
	fateOpen     = "not determined"
)

type fateList struct {
	name  string
	fates *[]Fate
}

func (r *Report) lists() []fateList {
	return []fateList{
		{fateDeleted, &r.Deleted},
		{fateKept, &r.Kept},
		{fatePruned, &r.Pruned},
		{fateOrphaned, &r.Orphaned},
		{fateBlocked, &r.Blocked},
		{fateWaiting, &r.Waiting},
		{fateOpen, &r.NonDeterministic},
	}
}

// fate says how an object ends.
func (d *deletion) fate(id graph.ID) (string, Fate) {
	fate := Fate{Object: document.ObjectOf(d.graph, id)}
	state := d.prediction.Likely(id)
	last, touched := d.last[id]
	if touched {
		fate.Rule, fate.Message = last.Rule, explain.Effect(d.prediction, last)
	}
	outcome := d.prediction.Outcome(id)
	switch {
	case !outcome.Deterministic():
		fate.Rule, fate.Message = outcome.Because[0], explain.Outcome(d.prediction, id)
		return fateOpen, fate
	case !state.Exists && d.awaitsInstances(id):
		fate.Rule = "E7"
		fate.Message = explain.Name(d.graph, id) + " waits until every object of its kind is gone"
		return fateWaiting, fate
	case !state.Exists:
		if d.soleOwner(id) && fate.Rule != rules.F12 {
			fate.Message += "; it had no other owner"
		}
		return fateDeleted, fate
	case state.Deleting:
		return d.dying(id, state, fate)
	case touched && last.Verb == rules.Pruned:
		return fatePruned, fate
	case touched && last.Verb == rules.Orphaned:
		return fateOrphaned, fate
	default:
		fate.Message = d.kept(id)
		return fateKept, fate
	}
}

// soleOwner reports whether the object goes because of the one owner that it has.
func (d *deletion) soleOwner(id graph.ID) bool {
	first, last := d.graph.ReferenceRange(id)
	return last-first == 1 && !slices.Contains(d.targets, id)
}

// awaitsInstances reports whether a definition has objects left, for which it waits.
func (d *deletion) awaitsInstances(id graph.ID) bool {
	return slices.ContainsFunc(d.instances[id], func(object graph.ID) bool { return d.prediction.Likely(object).Exists })
}

// dying is an object that is still there at the end: held by a deadlock, or by a finalizer
// that the collector leaves to others.
func (d *deletion) dying(id graph.ID, state rules.State, fate Fate) (string, Fate) {
	for _, number := range d.prediction.Blockers(id) {
		if deadlock := d.prediction.Deadlock(number); deadlock != "" {
			fate.Rule, fate.Message = deadlock, explain.Blocker(d.prediction, number)
			return fateBlocked, fate
		}
	}
	if blockers := d.prediction.Blockers(id); len(blockers) > 0 {
		fate.Rule, fate.Message = rules.F2, explain.Blocker(d.prediction, blockers[0])
		return fateWaiting, fate
	}
	fate.Rule = rules.F12
	fate.Message = fmt.Sprintf("%s is deleted as soon as these finalizers are taken off: %s", explain.Name(d.graph, id), strings.Join(state.Finalizers, ", "))
	switch {
	case len(state.Finalizers) > 0:
	case d.graph.IsNamespace(id):
		fate.Message = explain.Name(d.graph, id) + " is deleted as soon as what is left in it is gone"
	default:
		fate.Message = explain.Name(d.graph, id) + " is deleted when its grace period is over"
	}
	return fateWaiting, fate
}

// kept says why an object stays.
func (d *deletion) kept(id graph.ID) string {
	decision, ok := d.prediction.Decision(id)
	if !ok {
		return explain.Name(d.graph, id) + " stays"
	}
	switch decision.Action {
	case rules.NeverCollected:
		return explain.Name(d.graph, id) + " stays: it is cluster-scoped and names a namespaced owner, so that the garbage collector never deletes it"
	case rules.Retry:
		return explain.Name(d.graph, id) + " stays as long as one of its references cannot be judged"
	case rules.Unmanaged:
		return explain.Name(d.graph, id) + " stays: the garbage collector does not observe its type"
	case rules.Delete:
		return explain.Name(d.graph, id) + " stays for now: nothing makes the garbage collector look at it before it restarts"
	default:
		return explain.Name(d.graph, id) + " stays: " + decision.Because
	}
}
