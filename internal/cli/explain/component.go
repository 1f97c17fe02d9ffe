package explain

import (
	"fmt"
	"slices"
	"strings"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/ownership/graph"
)

// Finalizers with a meaning of their own.
const (
	definitionFinalizer = "customresourcecleanup.apiextensions.k8s.io"
	claimFinalizer      = "kubernetes.io/pvc-protection"
	volumeFinalizer     = "kubernetes.io/pv-protection"
)

// component is what has to take a finalizer off.
type component struct {
	does string   // what part of it does that
	name string   // what runs it, "" if that is the part itself
	by   []string // what its workloads and leases are called
}

// controllerManager runs most of what Kubernetes itself protects.
var controllerManager = component{name: "kube-controller-manager", by: []string{"kube-controller-manager"}}

func (c component) as(does string) component {
	c.does = does
	return c
}

// String names the component.
func (c component) String() string {
	switch {
	case c.does == "":
		return c.name
	case c.name == "":
		return c.does
	default:
		return c.does + " of " + c.name
	}
}

// known are the finalizers whose component is known, by the whole or, with a slash at the
// end, by the beginning.
var known = map[string]component{
	claimFinalizer:                                        controllerManager.as("the protection of claims in use"),
	volumeFinalizer:                                       controllerManager.as("the protection of bound volumes"),
	"kubernetes.io/vac-protection":                        controllerManager.as("the protection of VolumeAttributesClasses"),
	"kubernetes.io/pv-controller":                         controllerManager.as("the volume controller"),
	"batch.kubernetes.io/job-tracking":                    controllerManager.as("the job controller"),
	"resource.kubernetes.io/delete-protection":            controllerManager.as("the resource claim controller"),
	"scheduling.k8s.io/podgroup-protection":               controllerManager.as("the protection of PodGroups"),
	"networking.k8s.io/service-cidr-finalizer":            controllerManager.as("the ServiceCIDR controller"),
	"service.kubernetes.io/load-balancer-cleanup":         {does: "the service controller", name: "cloud-controller-manager", by: []string{"cloud-controller-manager", "cloud-provider"}},
	"external-provisioner.volume.kubernetes.io/finalizer": {name: "the provisioner of the volume's driver", by: []string{"provisioner"}},
	"external-attacher/":                                  {name: "the attacher of the volume's driver", by: []string{"attacher"}},
	v1alpha1.Finalizer:                                    {name: "TeamSpace's controller", by: []string{"teamspace-controller"}},
}

// componentOf is what has to take a finalizer off, as far as that is known.
func componentOf(finalizer string) (component, bool) {
	if c, ok := known[finalizer]; ok {
		return c, true
	}
	beginning, _, _ := strings.Cut(finalizer, "/")
	c, ok := known[beginning+"/"]
	return c, ok
}

// generic are the words of domains that say nothing of whose they are.
var generic = []string{
	"com", "dev", "example", "finalizer", "finalizers", "github", "io", "k8s", "kubernetes", "local", "net", "operator",
	"org", "sigs", "x-k8s", "controller", "cleanup", "resources", "cloud", "sh", "app", "www", "api", "apps",
}

// wordsOf are the words of a finalizer, and of those who set it, by which a workload may be
// known: acme of acme.example/cleanup.
func wordsOf(finalizer string, managers []string) []string {
	domain, _, _ := strings.Cut(finalizer, "/")
	var words []string
	for _, word := range append(strings.Split(domain, "."), managers...) {
		word = strings.ToLower(word)
		if len(word) > 2 && !slices.Contains(generic, word) && !strings.HasPrefix(word, "kubectl") && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// foreign is row E3: a finalizer that somebody else has to take off.
func (j judge) foreign(id graph.ID, finalizer string) []Cause {
	managers := j.details[id].managers[finalizer]
	set := ""
	if len(managers) > 0 {
		set = fmt.Sprintf(" (set by %s)", strings.Join(managers, ", "))
	}
	if c, ok := componentOf(finalizer); ok {
		return []Cause{{
			Rule:    "E3",
			Message: fmt.Sprintf("finalizer %s%s: %s has to take it off%s", finalizer, set, c, j.whether(c)),
			Fix:     fmt.Sprintf("see that %s runs, and read its log", c),
		}}
	}
	seen := j.evidence(wordsOf(finalizer, managers))
	if len(seen) == 0 {
		return []Cause{j.abandoned(id, finalizer, set)}
	}
	return []Cause{{
		Rule:    "E3",
		Message: fmt.Sprintf("finalizer %s%s: whoever set it has to take it off, probably %s", finalizer, set, strings.Join(seen, ", ")),
		Fix:     fmt.Sprintf("see that whoever takes the finalizer %s off runs, probably %s, and read its log for %s", finalizer, strings.Join(seen, ", "), j.name(id)),
	}}
}

// abandoned is a finalizer of which nobody is seen who would take it off.
func (j judge) abandoned(id graph.ID, finalizer, set string) Cause {
	group, _, _ := strings.Cut(finalizer, "/")
	return Cause{
		Rule:    "E3",
		Message: fmt.Sprintf("finalizer %s%s: no running workload found for this group (%s)", finalizer, set, group),
		Fix: fmt.Sprintf("re-install the operator of %s, which takes the finalizer %s off; the last resort, only if it never comes back: clean up by hand what it would have cleaned up for %s, then remove that one finalizer, and no other: %s",
			group, finalizer, j.name(id), j.command(id, "edit")),
	}
}

// stopped reports whether a component is known not to run.
func (j judge) stopped(c component) bool {
	seen := false
	for _, l := range j.leases {
		if !containsAny(l.name, c.by) {
			continue
		}
		if j.held(l) {
			return false
		}
		seen = true
	}
	return seen
}

// held reports whether whoever holds a lease renews it.
func (j judge) held(l lease) bool { return l.holder != "" && j.now.Sub(l.renewed) <= l.duration }

// whether says whether a component runs, as far as that can be seen.
func (j judge) whether(c component) string {
	if len(c.by) == 0 {
		return ""
	}
	seen := j.evidence(c.by)
	if len(seen) == 0 {
		return " (no lease and no workload of that name shows whether it runs)"
	}
	return " (" + strings.Join(seen, ", ") + ")"
}

// evidence lists the workloads and leases that are known by one of the words.
func (j judge) evidence(words []string) []string {
	var seen []string
	for _, w := range j.workloads {
		if !w.knownBy(words) {
			continue
		}
		seen = append(seen, fmt.Sprintf("%s %s/%s, %d of %d ready", w.kind, w.namespace, w.name, w.ready, w.wanted))
	}
	for _, l := range j.leases {
		if !containsAny(l.name, words) {
			continue
		}
		state := "renewed in time, so it runs"
		if !j.held(l) {
			state = fmt.Sprintf("not renewed for %s, so it does not run", ago(j.now, l.renewed))
		}
		seen = append(seen, fmt.Sprintf("Lease %s/%s %s", l.namespace, l.name, state))
	}
	return seen[:min(len(seen), mostNamed)]
}

func (w workload) knownBy(words []string) bool {
	return slices.ContainsFunc(w.words, func(own string) bool { return containsAny(own, words) })
}

func containsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}
