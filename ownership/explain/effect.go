package explain

import (
	"fmt"
	"strings"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// Effect says what one effect of a prediction does to its object, and why.
func Effect(p *rules.Prediction, e rules.Effect) string {
	subject := Name(p.Graph(), e.Object)
	owner := ""
	if e.Reference >= 0 {
		ref := p.Graph().Reference(e.Reference)
		owner = fmt.Sprintf("%s %s", line(ref.Kind), quote(ref.Name))
	}
	switch e.Verb {
	case rules.Removed:
		return fmt.Sprintf("%s is deleted%s", subject, reason(e.Rule))
	case rules.Terminating:
		return fmt.Sprintf("%s is marked as being deleted and waits for its finalizers%s", subject, reason(e.Rule))
	case rules.Released:
		return fmt.Sprintf("the garbage collector takes its finalizer off %s%s", subject, reason(e.Rule))
	case rules.Pruned:
		return fmt.Sprintf("%s loses its reference to %s and stays for another owner", subject, owner)
	case rules.Orphaned:
		return fmt.Sprintf("%s loses its reference to %s, which goes without its dependents", subject, owner)
	default:
		return fmt.Sprintf("%s does not block %s any more, since they own each other", subject, owner)
	}
}

// reason adds the row in words.
func reason(r rules.Rule) string {
	reasons := map[rules.Rule]string{
		rules.R09: ": its owner is being deleted in the foreground, and it has dependents of its own",
		rules.R10: ": its owner is being deleted in the foreground",
		rules.R11: ": none of its owners exists",
		rules.F3:  ": nothing blocks it any more",
		rules.F9:  ": its dependents have been orphaned",
		rules.F12: ": its last finalizer is gone",
		rules.N0:  ": its namespace is being deleted",
	}
	return reasons[r]
}

// Name names an object as people do: its kind, and its namespace and name.
func Name(g *graph.Graph, id graph.ID) string {
	_, kind, _ := g.Kind(id)
	if ns := g.Namespace(id); ns != "" {
		return fmt.Sprintf("%s %s/%s", line(kind), line(ns), line(g.Name(id)))
	}
	return fmt.Sprintf("%s %s", line(kind), line(g.Name(id)))
}

// Blocker says why a blocking reference, as Prediction.Blockers lists them,
// holds its owner, and what ends that.
func Blocker(p *rules.Prediction, number int) string {
	e := p.Graph().Edge(number)
	owner, blocker := Name(p.Graph(), e.Owner), Name(p.Graph(), e.Dependent)
	wayOut := WayOut(p, number)
	switch p.Deadlock(number) {
	case rules.F6:
		return fmt.Sprintf("%s blocks its own deletion for ever; %s", owner, wayOut)
	case rules.F5:
		return fmt.Sprintf("%s blocks %s for ever: it is cluster-scoped, has a namespaced owner and is never collected; %s, or delete %s",
			blocker, owner, wayOut, blocker)
	case rules.F7:
		return fmt.Sprintf("%s blocks %s until its other owners can be judged; correct that reference of %s, or %s",
			blocker, owner, blocker, wayOut)
	}
	state := p.Likely(e.Dependent)
	switch {
	case state.Deleting && len(state.Finalizers) > 0:
		return fmt.Sprintf("%s waits for %s, which is being deleted and has the finalizers %s",
			owner, blocker, line(strings.Join(state.Finalizers, ", ")))
	case state.Deleting && p.Graph().IsNamespace(e.Dependent):
		return fmt.Sprintf("%s waits for %s, which is being deleted and goes when everything in it is gone", owner, blocker)
	case state.Deleting:
		return fmt.Sprintf("%s waits for %s, which is being deleted", owner, blocker)
	}
	return fmt.Sprintf("%s waits for %s, which the garbage collector has not deleted yet", owner, blocker)
}

// WayOut says what ends a foreground deletion that a reference blocks, and harms nothing
// else: the owner goes, its dependents stay or go as they would have (F11).
func WayOut(p *rules.Prediction, number int) string {
	return fmt.Sprintf("delete %s again with --cascade=background", Name(p.Graph(), p.Graph().Edge(number).Owner))
}

// Outcome says how an object ends, and if that is open, why.
func Outcome(p *rules.Prediction, id graph.ID) string {
	o := p.Outcome(id)
	end := fmt.Sprintf("%s ends %s", Name(p.Graph(), id), o.Fates)
	if o.Deterministic() {
		return end
	}
	var why []string
	for _, r := range o.Because {
		why = append(why, doubt(r))
	}
	return fmt.Sprintf("%s, which is not determined: %s", end, strings.Join(why, "; "))
}

// doubt says why a row leaves an outcome open.
func doubt(r rules.Rule) string {
	doubts := map[rules.Rule]string{
		rules.D1:  "an owner's type vanished within the last half minute, and the garbage collector may take the owner for absent (D1)",
		rules.D2:  "an owner's type was not served for a while, and the garbage collector may remember the owner as absent (D2)",
		rules.R14: "an owner's type was removed, and the garbage collector may remember the owner as absent (R14)",
		rules.F3:  "whether everything that blocks it goes is open (F3)",
		rules.R08: "owners go at the same time, and references may be pruned in between (R08)",
		rules.R09: "whether it is deleted in the foreground depends on which of its owners and dependents goes first (R09)",
		rules.R10: "an owner waits for its dependents only for a while (R10)",
		rules.R17: "whether the garbage collector looks at it depends on what it observes first (R17)",
		rules.N0:  "the namespace may hold more than could be read, and goes only when it is empty (N)",
		rules.R19: "a cycle is broken by freeing its references (R19)",
	}
	if text, ok := doubts[r]; ok {
		return text
	}
	return "it depends on other objects whose end is open (" + string(r) + ")"
}
