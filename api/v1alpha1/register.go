package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of this package.
	GroupVersion = schema.GroupVersion{Group: "platform.labhub.io", Version: "v1alpha1"}

	// GroupVersionKind is that of TeamSpace, as an ownerReference writes it.
	GroupVersionKind = GroupVersion.WithKind("TeamSpace")

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the kinds of this package.
	AddToScheme = schemeBuilder.AddToScheme
)

// CRDName is the name of the CustomResourceDefinition of TeamSpace.
const CRDName = "teamspaces.platform.labhub.io"

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &TeamSpace{}, &TeamSpaceList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
