package explain

import (
	"fmt"
	"strings"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// judge finds the problems of one object.
type judge struct {
	s        Subject
	decision rules.Decision
}

func (j judge) problem(i int, ref Reference) (Problem, bool) {
	if twin, wrong := j.twin(i, ref); wrong {
		return twin, true
	}
	switch ref.Class {
	case rules.BadScope:
		return j.badScope(ref), true
	case rules.Absent:
		if rules.ImpossibleName(ref.Name) {
			return j.impossibleName(ref), true
		}
		return j.absent(ref), true
	case rules.Unresolvable:
		return j.unresolvable(ref), true
	case rules.Unknown:
		return j.unknown(ref), true
	case rules.Waiting:
		return j.waiting(ref), true
	default:
		return j.solid(ref)
	}
}

// badScope is row R05.
func (j judge) badScope(ref Reference) Problem {
	p := Problem{
		Rule: rules.R05, Severity: Error, Deny: true, Field: "kind", Value: ref.Kind,
		Wrong: fmt.Sprintf("kind %s is namespaced and this %s is cluster-scoped", properKind(ref), j.s.Kind),
		Consequence: fmt.Sprintf("the garbage collector would never delete this %s, whatever becomes of its owners%s",
			j.s.Kind, j.stake(" (before Kubernetes 1.20 it deleted such an object, and with it", ")")),
		Fix: "delete it in a finalizer of the owner, or own it by a cluster-scoped object",
	}
	if blocking(ref) {
		p.Consequence += ", and a foreground deletion of the owner would never end"
	}
	return p
}

// absent is rows R11, R13 and R15, or R08 where another owner is solid. To a
// reader who may not know about the owner all of them look alike.
func (j judge) absent(ref Reference) Problem {
	p := Problem{Rule: rules.R11, Severity: Error, Deny: true, Consequence: j.consequence()}
	switch {
	case ref.Mapping.NoResource:
		j.listKind(ref, &p)
	case !ref.Reveal:
		p.Value = ref.Kind + " " + ref.Name
		p.Wrong = fmt.Sprintf("no %s %s with this uid%s", properKind(ref), quote(ref.Name), j.required(ref))
		p.Fix = "use name and uid of an owner that exists, or drop the reference"
		p.Consequence = j.deletion(j.when() + ", unless another owner keeps it")
		return p
	case ref.Elsewhere != nil && ref.Elsewhere.Namespace != "" && ref.Elsewhere.Namespace != j.s.Namespace:
		j.otherNamespace(ref, &p)
	case ref.Elsewhere != nil: // nobody mistypes a uid: that is the owner that was meant
		j.otherCoordinates(ref, &p)
	case ref.Found != nil:
		j.otherUID(ref, &p)
	default:
		p.Field, p.Value = "name", ref.Name
		p.Wrong = fmt.Sprintf("%s %s does not exist%s", properKind(ref), quote(ref.Name), j.required(ref))
		p.Fix = "create the owner first and use its uid, or drop the reference"
	}
	if j.decision.Action == rules.Prune {
		p.Rule, p.Severity = rules.R08, Warning
	}
	return p
}

// impossibleName: such a name is no part of a URL, so that the collector asks for
// something else, and what it makes of the answer is not to be told from here.
func (j judge) impossibleName(ref Reference) Problem {
	return Problem{
		Rule: rules.R11, Severity: Error, Deny: true, Field: "name", Value: ref.Name,
		Wrong:       "no object can have this name",
		Consequence: fmt.Sprintf("the garbage collector would delete this %s%s, or never delete it", j.s.Kind, j.stake(", and with it", "")),
		Fix:         "use the name of the owner",
	}
}

// required says where the owner would have to be.
func (j judge) required(ref Reference) string {
	if place := j.place(ref); place != "" {
		return fmt.Sprintf("%s, where an owner of this %s must be unless it is cluster-scoped", place, j.s.Kind)
	}
	return ""
}

func (j judge) listKind(ref Reference, p *Problem) {
	p.Rule, p.Field, p.Value = rules.R15, "kind", ref.Kind
	p.Wrong = fmt.Sprintf("kind %s is a list and no object has it", line(ref.Kind))
	p.Fix = "use the kind of the owner itself"
}

func (j judge) otherUID(ref Reference, p *Problem) {
	p.Field, p.Value = "uid", string(ref.UID)
	p.Wrong = fmt.Sprintf("%s %s%s has uid %s", properKind(ref), quote(ref.Name), j.place(ref), quote(string(ref.Found.UID)))
	p.Fix = "use that uid or drop the reference"
	if ref.Found.UID == "" {
		p.Wrong = fmt.Sprintf("%s %s has no uid, so that it cannot be an owner", properKind(ref), quote(ref.Name))
		p.Fix = "drop the reference"
	}
	if j.s.Kind == "PersistentVolumeClaim" {
		p.Wrong += "; this looks like a restore"
		p.Fix += " before it is restored"
	}
}

func (j judge) otherNamespace(ref Reference, p *Problem) {
	p.Rule, p.Field, p.Value = rules.R13, "name", ref.Name
	allowed := "can be in any"
	if j.s.Namespace != "" {
		allowed = "can be outside namespace " + quote(j.s.Namespace)
	}
	p.Wrong = fmt.Sprintf("the %s with this uid is in namespace %s, and no owner of this %s %s",
		line(ref.Elsewhere.Kind), quote(ref.Elsewhere.Namespace), j.s.Kind, allowed)
	p.Fix = "put both into one namespace, or use a cluster-scoped owner, or drop the reference"
}

func (j judge) otherCoordinates(ref Reference, p *Problem) {
	p.Rule, p.Field, p.Value = rules.R15, "name", ref.Name
	p.Wrong = fmt.Sprintf("no %s %s%s has this uid", properKind(ref), quote(ref.Name), j.place(ref))
	p.Fix = fmt.Sprintf("the uid is that of %s %s %s: write that, or drop the reference",
		line(ref.Elsewhere.APIVersion), line(ref.Elsewhere.Kind), quote(ref.Elsewhere.Name))
}

// unresolvable is row R06, and P12 for what can be proven.
func (j judge) unresolvable(ref Reference) Problem {
	p := Problem{
		Rule: rules.R06, Severity: Warning, Field: "apiVersion", Value: ref.APIVersion, Consequence: j.consequence(),
		Wrong: fmt.Sprintf("%s has no kind %s", line(ref.APIVersion), line(ref.Kind)),
		Fix:   "use an apiVersion that is served, or drop the reference",
	}
	switch {
	case ref.Mapping.Type.Serving == graph.VanishedRecently:
		p.Wrong = fmt.Sprintf("%s %s is not served any more", line(ref.APIVersion), line(ref.Kind))
		p.Consequence = fmt.Sprintf("for half a minute after that the garbage collector may delete this %s, and later it would never",
			j.s.Kind)
	case rules.ImpossibleKind(ref.Kind):
		p.Deny, p.Field, p.Value = true, "kind", ref.Kind
		p.Wrong = fmt.Sprintf("no type can have the kind %s", quote(ref.Kind))
		p.Fix = "use the kind as the API server lists it, such as Deployment"
	case rules.BuiltInGroup(ref.APIVersion):
		p.Deny = true
	}
	if right := suggestion(ref); right != "" {
		p.Deny = p.Deny || groupServes(ref)
		p.Fix = fmt.Sprintf("did you mean %s? write that, or drop the reference", right)
	}
	return p
}

// suggestion names the types of the kind that are served: those of the same
// group, if there are any.
func suggestion(ref Reference) string {
	same := sameGroup(ref)
	if len(same) == 0 {
		same = ref.Suggest
	}
	var names []string
	for _, t := range same {
		names = append(names, t.APIVersion+" "+t.Kind)
	}
	return strings.Join(names, " or ")
}

// groupServes reports whether the group has the kind in another version.
func groupServes(ref Reference) bool { return len(sameGroup(ref)) > 0 }

func sameGroup(ref Reference) []graph.Type {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	var same []graph.Type
	for _, t := range ref.Suggest {
		if t.GroupKind().Group == group {
			same = append(same, t)
		}
	}
	return same
}

// unknown is row K5. Whoever could not read the owner does not know whether the
// collector can.
func (j judge) unknown(ref Reference) Problem {
	return Problem{
		Rule: rules.K5, Severity: Info, Field: "name", Value: ref.Name,
		Wrong:       fmt.Sprintf("whether %s %s exists%s could not be read", properKind(ref), quote(ref.Name), j.place(ref)),
		Consequence: "if it does not, " + j.deletion(j.when()+", unless another owner keeps it"),
		Fix:         "check that the owner exists and has this uid",
	}
}

// waiting is row K7.
func (j judge) waiting(ref Reference) Problem {
	return Problem{
		Rule: rules.K7, Severity: Warning, Field: "name", Value: ref.Name, Consequence: j.consequence(),
		Wrong: fmt.Sprintf("%s %s%s is being deleted in the foreground", properKind(ref), quote(ref.Name), j.place(ref)),
		Fix:   "use another owner, or drop the reference",
	}
}

// solid finds what may be wrong with a reference that the collector honours.
func (j judge) solid(ref Reference) (Problem, bool) {
	p := Problem{Severity: Warning, Field: "uid", Value: string(ref.UID), Consequence: j.consequence()}
	switch {
	case ref.UID != "" && ref.UID == j.s.UID:
		p.Rule, p.Severity = rules.R18, Info
		p.Wrong = fmt.Sprintf("this %s owns itself", j.s.Kind)
		p.Fix = "drop the reference"
		if blocking(ref) {
			p.Rule, p.Severity = rules.F6, Warning
			p.Consequence = "a foreground deletion of it would never end"
		}
	case ref.Cycle:
		p.Rule, p.Severity = rules.R19, Info
		p.Wrong = fmt.Sprintf("%s %s is owned by this %s itself, directly or through others", properKind(ref), quote(ref.Name), j.s.Kind)
		p.Consequence = "the garbage collector would never delete either by itself"
		p.Fix = "drop one of the references"
	case blocking(ref) && j.decision.Action == rules.Retry:
		p.Rule, p.Field, p.Value = rules.F7, "blockOwnerDeletion", "true"
		p.Wrong = fmt.Sprintf("this %s blocks %s %s, and is not collected as long as %s cannot be judged",
			j.s.Kind, properKind(ref), quote(ref.Name), j.unresolved())
		p.Consequence = fmt.Sprintf("a foreground deletion of %s %s would wait for that", properKind(ref), quote(ref.Name))
		p.Fix = "correct the other reference first"
	case ref.Doubt == rules.D2:
		p.Rule = rules.D2
		p.Wrong = fmt.Sprintf("%s was not served for a while", line(ref.APIVersion))
		p.Consequence = fmt.Sprintf("the garbage collector may still take the owner for absent and delete this %s", j.s.Kind)
		p.Fix = "use another version of the owner, or restart kube-controller-manager first"
	default:
		return Problem{}, false
	}
	return p, true
}

// twin is row R16: of two entries with one uid the later is reported, as wrong
// if either of them is.
func (j judge) twin(i int, ref Reference) (Problem, bool) {
	for k, other := range j.s.References[:i] {
		if other.UID != ref.UID {
			continue
		}
		p := Problem{
			Rule: rules.R16, Severity: Warning, Field: "uid", Value: string(ref.UID),
			Wrong:       fmt.Sprintf("duplicate uid, ownerReferences[%d] has it too", k),
			Consequence: "clients that use server-side apply fail on this object",
			Fix:         "keep one entry for each owner",
		}
		if j.decision.Action == rules.Prune && (other.Class != rules.Solid) != (ref.Class != rules.Solid) {
			p.Severity, p.Deny = Error, true
			p.Wrong += ", and one of the two is wrong"
			p.Consequence = fmt.Sprintf("the garbage collector would drop both and leave this %s without that owner", j.s.Kind)
		}
		return p, other.Class == rules.Solid || ref.Class == rules.Solid
	}
	return Problem{}, false
}
