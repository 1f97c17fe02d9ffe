package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// judge makes an explanation of facts. What was told once is not told again, so that
// objects that hold each other come to an end.
type judge struct {
	*facts

	told map[graph.ID]bool
}

// explainFacts explains one object, and says of which objects the explanation tells.
func explainFacts(f *facts, id graph.ID) (*Explanation, []graph.ID) {
	j := judge{facts: f, told: map[graph.ID]bool{}}
	e := j.explain(id)
	var told []graph.ID
	for id := range j.told {
		told = append(told, id)
	}
	slices.Sort(told)
	return e, told
}

// explain is the explain order E1 to E8 for one object.
func (j judge) explain(id graph.ID) *Explanation {
	e := newExplanation(document.ObjectOf(j.graph, id), stateLive, j.graph.Finalizers(id))
	switch {
	case j.told[id]:
		e.Told = true
		e.State = j.state(id)
		return e
	case !j.graph.Deleting(id): // E1
		j.told[id] = true
		e.Causes = append(e.Causes, j.live(id)...)
		return e
	}
	j.told[id] = true
	e.State = j.state(id)
	e.Causes = slices.Concat(e.Causes, j.pod(id), j.namespace(id), j.definition(id))
	for _, finalizer := range e.Finalizers {
		e.Causes = append(e.Causes, j.finalizer(id, finalizer)...)
	}
	e.Causes = append(e.Causes, j.unreachable(id)...)
	if len(e.Causes) == 0 {
		e.Causes = []Cause{{Rule: "E1", Message: fmt.Sprintf("nothing holds %s any more; it goes as soon as the API server gets to it", j.name(id))}}
	}
	return e
}

// state tells a Pod that has its grace period left from what does not go.
func (j judge) state(id graph.ID) string {
	switch {
	case !j.graph.Deleting(id):
		return stateLive
	case j.isCore(id, "Pod") && j.withinGrace(id):
		return stateTerminating
	default:
		return stateStuck
	}
}

// live says what the collector makes of an object that is not being deleted.
func (j judge) live(id graph.ID) []Cause {
	var causes []Cause
	for _, p := range explain.Problems(explain.Of(j.present, id)) {
		if p.Rule == rules.K7 {
			continue // that the owner is going is what this is about
		}
		causes = append(causes, Cause{Rule: string(p.Rule), Message: p.Message(), Fix: p.Fix})
	}
	return causes
}

// finalizer says who has to take a finalizer off, and what that waits for.
func (j judge) finalizer(id graph.ID, finalizer string) []Cause {
	switch finalizer {
	case metav1.FinalizerDeleteDependents:
		return j.foreground(id)
	case metav1.FinalizerOrphanDependents:
		return j.orphan(id)
	case definitionFinalizer:
		return nil // what it waits for is told of the definition
	case claimFinalizer:
		return j.claim(id)
	case volumeFinalizer:
		return j.volume(id)
	default:
		return j.foreign(id, finalizer)
	}
}

// foreground is row E4.
func (j judge) foreground(id graph.ID) []Cause {
	blockers := j.present.Blockers(id)
	if len(blockers) == 0 {
		return j.noBlocker(id)
	}
	var causes []Cause
	for _, number := range blockers {
		cause := Cause{Rule: "E4", Message: explain.Blocker(j.present, number)}
		dependent := j.graph.Edge(number).Dependent
		if j.details[dependent].gone {
			continue
		}
		if deadlock := j.present.Deadlock(number); deadlock != "" {
			cause.Rule = string(deadlock)
			cause.Fix = fmt.Sprintf("%s blocks it; %s", j.name(dependent), j.deleteAgain(id))
		} else if !j.graph.Deleting(dependent) {
			cause.Fix = j.patience(j.collectorFix())
			causes = append(causes, j.unreachable(dependent)...)
		}
		if dependent != id {
			cause.HeldBy = []*Explanation{j.explain(dependent)}
		}
		causes = append(causes, cause)
	}
	return causes
}

// noBlocker: the collector lags behind, did not see the last blocker go, or does not see
// all types (F3, C54).
func (j judge) noBlocker(id graph.ID) []Cause {
	message := fmt.Sprintf("%s waits for its dependents, and none is found that blocks it", j.name(id))
	if len(j.incomplete) > 0 {
		message += "; some types could not be read, and a blocker may be among them"
	}
	if j.stopped(controllerManager) {
		return []Cause{{Rule: "E4", Message: message + ": the garbage collector does not run", Fix: j.collectorFix()}}
	}
	if !j.twice {
		return []Cause{{Rule: "E4", Message: message, Fix: "look again in a minute"}}
	}
	return []Cause{{
		Rule:    string(rules.F3),
		Message: message + ", not some seconds later either: the garbage collector lags behind, or missed an update",
		Fix:     fmt.Sprintf("%s; if that does not help, %s", j.collectorFix(), j.deleteAgain(id)),
	}}
}

// patience is the way out of what ends by itself, unless who ends it does not run.
func (j judge) patience(fix string) string {
	if j.stopped(controllerManager) {
		return fix
	}
	return "look again in a minute; " + fix
}

// orphan is row E5.
func (j judge) orphan(id graph.ID) []Cause {
	var dependents []*Explanation
	seen := map[graph.ID]bool{}
	for _, number := range j.graph.Dependents(id) {
		dependent := j.graph.Edge(int(number)).Dependent
		if !seen[dependent] && len(dependents) < mostNamed {
			seen[dependent] = true
			dependents = append(dependents, newExplanation(document.ObjectOf(j.graph, dependent), j.state(dependent), j.graph.Finalizers(dependent)))
		}
	}
	cause := Cause{Rule: "E5", HeldBy: dependents}
	if len(dependents) == 0 {
		cause.Message = fmt.Sprintf("%s waits for the garbage collector to take the finalizer orphan off; no dependent has a reference to it any more", j.name(id))
		cause.Fix = j.collectorFix()
		return []Cause{cause}
	}
	cause.Message = fmt.Sprintf("%s waits until the garbage collector has taken the reference to it off every dependent", j.name(id))
	cause.Fix = "find out what denies that change of a dependent: an admission webhook or a policy; then " + j.collectorFix()
	return append([]Cause{cause}, j.unreachable(j.graph.Edge(int(j.graph.Dependents(id)[0])).Dependent)...)
}

// deleteAgain is the way out of a foreground deletion that never ends (F11, D9).
func (j judge) deleteAgain(id graph.ID) string {
	return "delete it again in the background, and its dependents follow later or stay: " + j.command(id, "delete", "--cascade=background")
}

// collectorFix is what to do when the collector does not do its work.
func (j judge) collectorFix() string {
	fix := "see that kube-controller-manager runs" + j.whether(controllerManager)
	if j.stopped(controllerManager) {
		return fix + "; it then goes on with the deletion by itself"
	}
	return fix + ", and restart it if it does"
}

// command is a call of kubectl for an object.
func (j judge) command(id graph.ID, verb string, flags ...string) string {
	words := []string{"kubectl", verb, j.resource(id).GroupResource().String() + "/" + j.graph.Name(id)}
	if namespace := j.graph.Namespace(id); namespace != "" {
		words = slices.Insert(words, 1, "-n", namespace)
	}
	return strings.Join(append(words, flags...), " ")
}

func (j judge) name(id graph.ID) string { return explain.Name(j.graph, id) }

// isCore reports whether an object is of a kind of the core group.
func (j judge) isCore(id graph.ID, kind string) bool {
	apiVersion, is, _ := j.graph.Kind(id)
	return apiVersion == "v1" && is == kind
}

// mostNamed is how many objects of one sort are told of: more help nobody.
const mostNamed = 10

func (j judge) withinGrace(id graph.ID) bool {
	d := j.details[id]
	return !d.deleted.IsZero() && !j.now.After(d.deleted)
}

func ago(now, then time.Time) string { return now.Sub(then).Round(time.Second).String() }
