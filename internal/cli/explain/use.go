package explain

import (
	"fmt"
	"slices"
	"strings"

	"labhub.io/teamspace/ownership/graph"
)

// pod is row E2: a Pod goes when the kubelet of its node says that it has ended.
func (j judge) pod(id graph.ID) []Cause {
	if !j.isCore(id, "Pod") {
		return nil
	}
	d := j.details[id]
	switch {
	case j.withinGrace(id):
		return []Cause{{Rule: "E2", Message: fmt.Sprintf("%s has %s of its grace period left", j.name(id), ago(d.deleted, j.now))}}
	case d.grace == 0:
		return nil // the kubelet has done its part, or there was none to ask
	}
	cause := Cause{Rule: "E2"}
	i := slices.IndexFunc(j.nodes, func(n node) bool { return n.name == d.node })
	switch {
	case d.node == "":
		cause.Message = fmt.Sprintf("%s was never scheduled, and its grace period is over", j.name(id))
		cause.Fix = j.controllerManagerFix("pod garbage collector")
	case i < 0:
		cause.Message = fmt.Sprintf("%s runs on Node %s, which does not exist", j.name(id), d.node)
		cause.Fix = j.controllerManagerFix("pod garbage collector")
	case !j.nodes[i].ready:
		cause.Message = fmt.Sprintf("%s runs on Node %s, which is not ready: nobody has confirmed that it has ended", j.name(id), d.node)
		cause.Fix = fmt.Sprintf("bring Node %s back; if the machine is gone for good, delete the Node, and its pods go", d.node)
	default:
		cause.Message = fmt.Sprintf("%s runs on Node %s, whose kubelet has not confirmed that it has ended", j.name(id), d.node)
		cause.Fix = fmt.Sprintf("read the log of the kubelet on %s: a container or a volume of the pod does not end", d.node)
	}
	return []Cause{cause}
}

func (j judge) controllerManagerFix(part string) string {
	return fmt.Sprintf("the %s of kube-controller-manager removes it: see that it runs%s", part, j.whether(controllerManager))
}

// claim is a PersistentVolumeClaim that Pods still use.
func (j judge) claim(id graph.ID) []Cause {
	var pods []string
	for _, use := range j.claims {
		if use.namespace == j.graph.Namespace(id) && use.claim == j.graph.Name(id) {
			pods = append(pods, use.pod)
		}
	}
	if len(pods) == 0 {
		return j.foreign(id, claimFinalizer)
	}
	return []Cause{{
		Rule:    "E3",
		Message: fmt.Sprintf("finalizer %s: %s is used by the pods %s, and goes when none of them runs any more", claimFinalizer, j.name(id), someOf(pods)),
		Fix:     "delete those pods, or scale down what makes them; the claim then goes by itself",
	}}
}

// volume is a PersistentVolume that a claim is bound to.
func (j judge) volume(id graph.ID) []Cause {
	claim := j.details[id].claim
	if claim == "" {
		return j.foreign(id, volumeFinalizer)
	}
	return []Cause{{
		Rule:    "E3",
		Message: fmt.Sprintf("finalizer %s: %s is bound to PersistentVolumeClaim %s, and goes when that is gone", volumeFinalizer, j.name(id), claim),
		Fix:     "delete the claim, if its data is not needed; the volume then goes by itself",
	}}
}

// someOf joins names, and says how many were left out.
func someOf(names []string) string {
	if more := len(names) - mostNamed; more > 0 {
		return strings.Join(names[:mostNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}
