package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TeamSpace gives a team a namespace of its own, team-<name>, with a quota. The
// namespace is kept as declared, and goes when the TeamSpace goes, after a record
// of the TeamSpace has been archived.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,path=teamspaces,singular=teamspace,shortName=ts
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.status.namespace`,description="The namespace of the team"
// +kubebuilder:printcolumn:name="Pods",type=integer,JSONPath=`.spec.pods`,description="How many pods the team may run"
// +kubebuilder:printcolumn:name="CPU",type=string,JSONPath=`.spec.cpu`,description="How much cpu all pods may request together"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether all of it is in force"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="Why it is Ready or not"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 58",message="metadata.name: at most 58 characters, so that team-<name> fits the 63 of a namespace"
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.contains('.')",message="metadata.name: lower-case letters, digits and '-' only, no dots, because team-<name> names a namespace"
type TeamSpace struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the team gets.
	// +required
	Spec TeamSpaceSpec `json:"spec"`

	// What is really there. Written by the controller.
	// +optional
	Status TeamSpaceStatus `json:"status,omitempty,omitzero"`
}

// TeamSpaceSpec declares what the team gets.
//
// CEL cannot multiply a quantity, and the cost of a string made from a number is
// without bound for it, so that the rule puts the least cpu together from tens and
// ones of a milli-core. An exponent of three digits is refused before it is computed: a
// number of 10^999999999 would keep the API server busy for as long as that takes.
//
// +kubebuilder:validation:XValidation:rule="self.pods < 1 || self.pods > 50 || self.cpu.matches('[eE][+-]?[0-9]{3}') || !isQuantity(self.cpu) || quantity(self.cpu).compareTo(quantity(['0','10m','20m','30m','40m','50m'][self.pods / 10]).add(quantity(['0','1m','2m','3m','4m','5m','6m','7m','8m','9m'][self.pods % 10]))) >= 0",fieldPath=".cpu",reason=FieldValueInvalid,message="must be at least 1m (a thousandth of a core) for each pod of spec.pods"
type TeamSpaceSpec struct {
	// How many pods may run in the namespace at the same time, 1 to 50.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	Pods int32 `json:"pods"`

	// How much cpu all pods of the namespace may request together, as a
	// Kubernetes quantity in cores such as "1", "500m" or "0.5": at least 1m for
	// each pod. Quote it in YAML. Kept exactly as written. A container without a request of its own
	// gets an equal share, cpu divided by pods.
	// +optional
	// +kubebuilder:default="1"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="!self.matches('[eE][+-]?[0-9]{3}') && isQuantity(self)",message="must be a Kubernetes quantity such as \"1\", \"500m\" or \"0.5\""
	CPU string `json:"cpu,omitempty"`
}

// TeamSpaceStatus is what the controller last saw.
type TeamSpaceStatus struct {
	// The generation of the spec that the rest of the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The namespace of the team.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// Ready is the sum of the others. Reconciling and Stalled are there only
	// while they apply, Archived only while the TeamSpace is being deleted.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// What the quota last counted as used. The archive record takes it from here,
	// whatever has become of the namespace by then.
	// +optional
	Used corev1.ResourceList `json:"used,omitempty"`
}

// TeamSpaceList is a list of TeamSpaces.
//
// +kubebuilder:object:root=true
type TeamSpaceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// The TeamSpaces.
	Items []TeamSpace `json:"items"`
}
