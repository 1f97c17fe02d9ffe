package inventory

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"labhub.io/teamspace/ownership/graph"
)

// clusterScoped are the built-in kinds, by group, whose objects are in no namespace. What
// a kind's scope is never changes.
var clusterScoped = map[string]string{
	"":                             "ComponentStatus Namespace Node PersistentVolume",
	"admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
	"apiextensions.k8s.io":         "CustomResourceDefinition",
	"apiregistration.k8s.io":       "APIService",
	"authentication.k8s.io":        "SelfSubjectReview TokenReview",
	"authorization.k8s.io":         "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
	"certificates.k8s.io":          "CertificateSigningRequest ClusterTrustBundle",
	"extensions":                   "PodSecurityPolicy",
	"flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
	"imagepolicy.k8s.io":           "ImageReview",
	"internal.apiserver.k8s.io":    "StorageVersion",
	"networking.k8s.io":            "ClusterCIDR IngressClass IPAddress ServiceCIDR",
	"node.k8s.io":                  "RuntimeClass",
	"policy":                       "PodSecurityPolicy",
	"rbac.authorization.k8s.io":    "ClusterRole ClusterRoleBinding",
	"resource.k8s.io":              "DeviceClass DeviceTaintRule ResourcePoolStatusRequest ResourceSlice",
	"scheduling.k8s.io":            "PriorityClass",
	"storage.k8s.io":               "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
	"storagemigration.k8s.io":      "StorageVersionMigration",
}

// BuiltInTypes are the types of Kubernetes itself, in all versions that this program
// knows: what can be said of types where no cluster can be asked.
func BuiltInTypes() []graph.Type {
	var types []graph.Type
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		if _, object := t.FieldByName("ObjectMeta"); object && gvk.Version != runtime.APIVersionInternal && t.Kind() == reflect.Struct {
			types = append(types, builtIn(gvk))
		}
	}
	return append(types,
		builtIn(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}),
		builtIn(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}),
	)
}

func builtIn(gvk schema.GroupVersionKind) graph.Type {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	cluster := strings.Contains(" "+clusterScoped[gvk.Group]+" ", " "+kind+" ")
	return graph.Type{APIVersion: apiVersion, Kind: kind, Namespaced: !cluster, Serving: graph.Served}
}
