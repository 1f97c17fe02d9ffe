package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/graph"
)

// namespace is rows N1 to N5: what is left in a namespace is counted, since its conditions
// are those of the last attempt and leave pods out.
func (j judge) namespace(id graph.ID) []Cause {
	if !j.graph.IsNamespace(id) {
		return nil
	}
	left := j.contentOf(j.graph.Name(id))
	causes := slices.Concat(j.pods(id, left), j.content(id, left), j.unlisted(), j.aggregated())
	causes = append(causes, j.failures(id, len(causes) == 0)...)
	if len(causes) == 0 && len(j.graph.Finalizers(id)) == 0 {
		c := controllerManager.as("the namespace controller")
		causes = append(causes, Cause{
			Rule:    "N4",
			Message: fmt.Sprintf("nothing is left in %s that can be listed; %s has to let it go%s", j.name(id), c, j.whether(c)),
			Fix:     "see that kube-controller-manager runs, and read its log for the namespace",
		})
	}
	if own := j.graph.Finalizers(id); len(own) > 0 { // N2
		causes = append(causes, Cause{
			Rule:    "N2",
			Message: fmt.Sprintf("the metadata of %s has the finalizers %s, which none of its conditions tells", j.name(id), strings.Join(own, ", ")),
		})
	}
	return causes
}

// contentOf are the objects in a namespace by kind.
func (j judge) contentOf(namespace string) map[schema.GroupKind][]graph.ID {
	left := map[schema.GroupKind][]graph.ID{}
	for id := range graph.ID(j.graph.Len()) {
		if j.graph.Namespace(id) == namespace && !j.details[id].gone {
			left[j.groupKind(id)] = append(left[j.groupKind(id)], id)
		}
	}
	return left
}

func (j judge) groupKind(id graph.ID) schema.GroupKind {
	apiVersion, kind, _ := j.graph.Kind(id)
	return schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind()
}

var podKind = schema.GroupKind{Kind: "Pod"}

// pods is row N1: while a pod is there nothing else is touched, and the conditions say that
// all content is gone.
func (j judge) pods(id graph.ID, left map[schema.GroupKind][]graph.ID) []Cause {
	pods := left[podKind]
	if len(pods) == 0 {
		return nil
	}
	return []Cause{{
		Rule:    "N1",
		Message: fmt.Sprintf("pods: %d left in %s, and nothing else in it is deleted before they are gone", len(pods), j.name(id)),
		HeldBy:  j.some(pods),
	}}
}

// content names what else is left.
func (j judge) content(id graph.ID, left map[schema.GroupKind][]graph.ID) []Cause {
	kinds := make([]schema.GroupKind, 0, len(left))
	for kind := range left {
		if kind != podKind {
			kinds = append(kinds, kind)
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group))
	})
	var causes []Cause
	for _, kind := range kinds {
		ids := left[kind]
		cause := Cause{Rule: "N4", Message: fmt.Sprintf("%s: %d left in %s", j.resource(ids[0]).GroupResource(), len(ids), j.name(id))}
		cause.HeldBy = j.some(ids)
		var more []Cause
		if i := slices.IndexFunc(ids, func(id graph.ID) bool { return !j.graph.Deleting(id) }); i >= 0 {
			more = j.unreachable(ids[i])
			cause.Fix = j.untouched(left, more)
		}
		causes = append(append(causes, cause), more...)
	}
	return causes
}

// untouched says what to do about content that nobody has begun to delete.
func (j judge) untouched(left map[schema.GroupKind][]graph.ID, webhooks []Cause) string {
	if len(webhooks) > 0 || len(left[podKind]) > 0 {
		return "" // that is why
	}
	c := controllerManager.as("the namespace controller")
	return fmt.Sprintf("%s has not begun to delete it: look again in a minute; see that it runs%s", c, j.whether(c))
}

// some explains the first objects of a list: those that are being deleted first, because
// it is them that hold the rest.
func (j judge) some(ids []graph.ID) []*Explanation {
	sorted := slices.Clone(ids)
	slices.SortStableFunc(sorted, func(a, b graph.ID) int {
		if x, y := j.graph.Deleting(a), j.graph.Deleting(b); x != y {
			if x {
				return -1
			}
			return 1
		}
		return document.Compare(document.ObjectOf(j.graph, a), document.ObjectOf(j.graph, b))
	})
	var some []*Explanation
	for _, id := range sorted[:min(len(sorted), mostNamed)] {
		if !j.graph.Deleting(id) {
			some = append(some, newExplanation(document.ObjectOf(j.graph, id), stateLive, j.graph.Finalizers(id)))
			continue
		}
		some = append(some, j.explain(id))
	}
	return some
}

// unlisted are types whose content nobody can list (E8, C49).
func (j judge) unlisted() []Cause {
	var causes []Cause
	for _, i := range j.incomplete {
		cause := Cause{Rule: "E8", Message: fmt.Sprintf("cannot list %s; if the namespace controller is answered the same, what is left of it cannot be deleted: %s", i.Resource, i.Reason)}
		if c, ok := j.conversionOf(i); ok {
			cause.Message = fmt.Sprintf("cannot list %s: conversion webhook %s: %s", i.Resource, c.backend.service, c.backend.fault)
			cause.Fix = fmt.Sprintf("bring the conversion webhook of CustomResourceDefinition %s back", c.definition)
		} else if j.isAggregated(i) {
			continue // told as such
		}
		causes = append(causes, cause)
	}
	return causes
}

func (j judge) conversionOf(i inventory.Incomplete) (conversion, bool) {
	for _, c := range j.conversions {
		if c.definition == i.Resource {
			return c, true
		}
	}
	return conversion{}, false
}

func (j judge) isAggregated(i inventory.Incomplete) bool {
	return slices.ContainsFunc(j.unavailable, func(a apiService) bool { return a.name == i.Resource })
}

// aggregated are APIs whose server does not answer: the namespace controller cannot know
// what they hold (C32).
func (j judge) aggregated() []Cause {
	var causes []Cause
	for _, a := range j.unavailable {
		causes = append(causes, Cause{
			Rule: "N4",
			Message: fmt.Sprintf("APIService %s is unavailable (%s, service %s): %s; content is deleted all the same, only the final step waits",
				a.name, a.reason, a.service, a.message),
			Fix: fmt.Sprintf("bring Service %s back; if it never comes back: kubectl delete apiservice %s", a.service, a.name),
		})
	}
	return causes
}

// failures are what the namespace controller was told when it deleted content. If nothing
// is found now that keeps the namespace, that is over.
func (j judge) failures(id graph.ID, over bool) []Cause {
	var causes []Cause
	kinds := []string{"NamespaceDeletionContentFailure", "NamespaceDeletionGroupVersionParsingFailure"}
	if len(j.unavailable) == 0 {
		kinds = append(kinds, "NamespaceDeletionDiscoveryFailure") // else it is told which server is away
	}
	for _, kind := range kinds {
		c, ok := j.details[id].is(kind)
		if !ok {
			continue
		}
		cause := Cause{Rule: "N4", Message: fmt.Sprintf("at its last attempt the namespace controller failed: %s", c.message)}
		webhook, denied := denier(c.message)
		switch {
		case over:
			cause.Message += "; the cause of that is gone"
			cause.Fix = j.retry()
		case denied:
			cause.Fix = fmt.Sprintf("webhook %s denies the deletion: change what it judges, or its rule", webhook)
		}
		causes = append(causes, cause)
	}
	return causes
}

// retry is what follows when the namespace controller can do its work again.
func (j judge) retry() string {
	if j.stopped(controllerManager) {
		return "see that kube-controller-manager runs" + j.whether(controllerManager) + "; its namespace controller then tries again by itself"
	}
	return "wait: the namespace controller tries again by itself, usually within a minute; if it does not, see that kube-controller-manager runs" + j.whether(controllerManager)
}

// denier is the webhook that a message of the API server names.
func denier(message string) (string, bool) {
	_, after, found := strings.Cut(message, `admission webhook "`)
	name, after, quoted := strings.Cut(after, `"`)
	return name, found && quoted && strings.HasPrefix(after, " denied the request")
}

// definition is row E7: a CustomResourceDefinition waits for the objects of its kind.
func (j judge) definition(id graph.ID) []Cause {
	apiVersion, kind, _ := j.graph.Kind(id)
	if kind != "CustomResourceDefinition" || !strings.HasPrefix(apiVersion, "apiextensions.k8s.io/") || !slices.Contains(j.graph.Finalizers(id), definitionFinalizer) {
		return nil
	}
	var objects []graph.ID
	for object := range graph.ID(j.graph.Len()) {
		if j.resource(object).GroupResource().String() == j.graph.Name(id) && !j.details[object].gone {
			objects = append(objects, object)
		}
	}
	cause := Cause{Rule: "E7", Message: fmt.Sprintf("%s waits until every object of its kind is gone: %d are left", j.name(id), len(objects)), HeldBy: j.some(objects)}
	if c, ok := j.details[id].is("Terminating"); ok && c.message != "" {
		cause.Message += fmt.Sprintf(" (%s: %s)", c.reason, c.message)
	}
	if len(objects) == 0 {
		cause.Fix = "see below what cannot be read; else look again in a minute"
	}
	causes := []Cause{cause}
	for _, c := range j.conversions {
		if c.definition == j.graph.Name(id) {
			causes = append(causes, Cause{
				Rule:    "E8",
				Message: fmt.Sprintf("objects of its kind can be neither listed nor deleted: conversion webhook %s: %s", c.backend.service, c.backend.fault),
				Fix:     "bring the conversion webhook back",
			})
		}
	}
	return causes
}
