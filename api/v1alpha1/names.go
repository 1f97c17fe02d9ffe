package v1alpha1

import "strings"

// Keys that TeamSpace writes on objects. They are part of the API: people
// select, copy and script them.
const (
	// Finalizer holds a TeamSpace until its archive record is written.
	Finalizer = "platform.labhub.io/cleanup"

	// LabelTeamSpace names the TeamSpace that a namespace belongs to. The label
	// alone proves nothing; see the ownerReference.
	LabelTeamSpace = "platform.labhub.io/teamspace"

	// AnnotationAdopt, set on an existing namespace to the name of a TeamSpace,
	// hands that namespace over to it. It is taken away once it has been obeyed.
	AnnotationAdopt = "platform.labhub.io/adopt"

	// LabelGuardMode on a namespace sets the guard's mode for what is in it:
	// enforce, warn, audit or off.
	LabelGuardMode = "guard.platform.labhub.io/mode"

	// AnnotationWebhooks with the value "off" on the namespace of the release takes all
	// webhooks out of service, whoever makes their configurations again, until it is taken
	// off: for an emergency.
	AnnotationWebhooks = "platform.labhub.io/webhooks"

	// AnnotationAllowDelete with the value "true" lets a person delete a namespace
	// that belongs to a TeamSpace. It is for emergencies.
	AnnotationAllowDelete = "platform.labhub.io/allow-delete"
)

// Names of the objects that every TeamSpace gets.
const (
	// NamespacePrefix before the name of a TeamSpace gives its namespace.
	NamespacePrefix = "team-"

	// LimitRangeName is the LimitRange with the default cpu request.
	LimitRangeName = "team-defaults"

	// QuotaName is the ResourceQuota with the declared pods and cpu.
	QuotaName = "team-quota"
)

// NamespaceFor returns the name of the namespace of a TeamSpace.
func NamespaceFor(teamSpace string) string { return NamespacePrefix + teamSpace }

// TeamSpaceFor returns the name of the TeamSpace whose namespace would be called
// so, and false for a namespace that no TeamSpace can have.
func TeamSpaceFor(namespace string) (string, bool) {
	name, ok := strings.CutPrefix(namespace, NamespacePrefix)
	return name, ok && name != ""
}
