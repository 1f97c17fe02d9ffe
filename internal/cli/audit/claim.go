package audit

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"labhub.io/teamspace/internal/cli/finding"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// fullPage is small: these are whole objects.
const fullPage = 200

var statefulSetResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}

// template is the metadata of a claim template of a StatefulSet.
type template struct {
	set   live
	index int
	metav1.ObjectMeta
}

// claimTemplates reads the claim templates that hand anything on. They are in no metadata,
// and nothing validates them (H3).
func (c *confirmer) claimTemplates(ctx context.Context, client dynamic.Interface, s scope) []template {
	var found []template
	err := inventory.EachPage(func(token string) (string, error) {
		if token == "" {
			found = nil // the list begins anew
		}
		list, err := client.Resource(statefulSetResource).Namespace(s.namespace).List(ctx,
			metav1.ListOptions{Limit: fullPage, LabelSelector: c.selector.String(), Continue: token})
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			found = append(found, templatesOf(&list.Items[i])...)
		}
		return list.GetContinue(), nil
	})
	if err != nil {
		c.gap(statefulSetResource.GroupResource(), fmt.Errorf("reading claim templates: %w", err))
	}
	return found
}

func templatesOf(set *unstructured.Unstructured) []template {
	items, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	var found []template
	for i, item := range items {
		t := template{index: i, set: live{resource: statefulSetResource}}
		fields, _ := item.(map[string]any)
		claim := &metav1.PartialObjectMetadata{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, claim); err != nil {
			continue // not what the API server would have stored
		}
		if len(claim.OwnerReferences) == 0 && len(claim.Finalizers) == 0 {
			continue
		}
		t.ObjectMeta = claim.ObjectMeta
		t.set.SetGroupVersionKind(set.GroupVersionKind())
		t.set.Namespace, t.set.Name, t.set.UID = set.GetNamespace(), set.GetName(), set.GetUID()
		found = append(found, t)
	}
	return found
}

// claims judges what every claim of a template will have.
func (c *confirmer) claims(ctx context.Context, t template) []fixable {
	claim := live{resource: schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}}
	claim.APIVersion, claim.Kind = "v1", "PersistentVolumeClaim"
	claim.Namespace, claim.Name = t.set.Namespace, t.Name
	for _, ref := range t.OwnerReferences {
		claim.references = append(claim.references, c.reference(ctx, claim.Namespace, ref, graph.None))
	}
	return t.findings(claim)
}

// findings are those of a claim, told of its StatefulSet.
func (t template) findings(claim live) []fixable {
	where := fmt.Sprintf("spec.volumeClaimTemplates[%d].", t.index)
	tell := func(severity explain.Severity, verdict rules.Action, message string, ref *finding.Reference) fixable {
		return fixable{object: t.set, Finding: finding.Finding{
			Rule: ruleClaimTemplate, Severity: severity, Object: finding.ObjectOf(inventory.TargetOf(&t.set.PartialObjectMetadata)), Reference: ref,
			Verdict: verdict.String(), Message: where + message,
			Fix: "correct the claims that are there; the template cannot be changed: delete the StatefulSet with --cascade=orphan and make it again without this",
		}}
	}
	decision := claim.subject().Decision().Action
	wrong := map[int]bool{}
	var found []fixable
	for _, p := range explain.Problems(claim.subject()) {
		wrong[p.Index] = true
		if p.Rule != rules.K5 {
			found = append(found, tell(p.Severity, decision, p.Diagnosis()+", and every claim of this StatefulSet is made with it", claim.reference(p.Index)))
		}
	}
	for i, ref := range t.OwnerReferences {
		if !wrong[i] {
			message := fmt.Sprintf("metadata.ownerReferences[%d]: every claim of this StatefulSet is owned by %s %s, and goes with it and with it the data", i, ref.Kind, ref.Name)
			found = append(found, tell(explain.Info, decision, message, claim.reference(i)))
		}
	}
	if len(t.Finalizers) > 0 {
		message := fmt.Sprintf("metadata.finalizers: every claim of this StatefulSet is made with %s, and stays when it is deleted until somebody removes that", strings.Join(t.Finalizers, ", "))
		found = append(found, tell(explain.Warning, rules.Keep, message, nil))
	}
	return found
}
