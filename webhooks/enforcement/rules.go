package enforcement

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"labhub.io/teamspace/api/v1alpha1"
)

// The names of the webhooks in the chart's configurations.
const (
	ownerReferences = "ownerreferences.platform.labhub.io"
	teamSpaces      = "teamspaces.platform.labhub.io"
)

// rules are what the API server asks each webhook about, as far as the conditions of the
// chart do not leave it out. A webhook that has another name is none of ours.
func rules(webhook string) []admissionregistrationv1.RuleWithOperations {
	written := []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}
	switch webhook {
	case ownerReferences:
		return []admissionregistrationv1.RuleWithOperations{{Operations: written, Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"},
			Scope: new(admissionregistrationv1.AllScopes),
		}}}
	case teamSpaces:
		return []admissionregistrationv1.RuleWithOperations{{Operations: written, Rule: admissionregistrationv1.Rule{
			APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{v1alpha1.GroupVersion.Version}, Resources: []string{"teamspaces"},
			Scope: new(admissionregistrationv1.ClusterScope),
		}}}
	default:
		return nil
	}
}
