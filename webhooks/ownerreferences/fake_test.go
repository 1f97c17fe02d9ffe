package ownerreferences

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

type accessFunc func(resource schema.GroupVersionResource, namespace, name string) (bool, error)

func (f accessFunc) MayGet(_ context.Context, _ authenticationv1.UserInfo, resource schema.GroupVersionResource, namespace, name string) (bool, error) {
	return f(resource, namespace, name)
}

func everything(schema.GroupVersionResource, string, string) (bool, error) { return true, nil }
func nothing(schema.GroupVersionResource, string, string) (bool, error)    { return false, nil }

// cluster is what live reads find: Owners without an API server. Keys are
// "Kind namespace/name", or "Kind name" for what is cluster-scoped.
type cluster struct {
	objects map[string]*metav1.PartialObjectMetadata

	// broken kinds answer every read with an error.
	broken string

	reads atomic.Int32
}

var servedTypes = graph.NewTypes(
	graph.Type{APIVersion: "v1", Kind: "ConfigMap", Namespaced: true, Serving: graph.Served},
	graph.Type{APIVersion: "v1", Kind: "Namespace", Serving: graph.Served},
	graph.Type{APIVersion: "apps/v1", Kind: "Deployment", Namespaced: true, Serving: graph.Served},
	graph.Type{APIVersion: "apps/v1", Kind: "StatefulSet", Namespaced: true, Serving: graph.Served},
	graph.Type{APIVersion: "acme.example/v1", Kind: "Widget", Namespaced: true, Serving: graph.Served},
	graph.Type{APIVersion: "acme.example/v1", Kind: "ClusterWidget", Serving: graph.Served},
	graph.Type{APIVersion: "acme.example/v1", Kind: "Lately", Namespaced: true, Serving: graph.VanishedRecently},
)

func (c *cluster) Now() time.Time { return time.Time{} }

func (c *cluster) GetOwner(_ context.Context, _ time.Time, namespace string, ref metav1.OwnerReference) inventory.Owner {
	c.reads.Add(1)
	mapping := servedTypes.Resolve(ref.APIVersion, ref.Kind)
	owner := inventory.Owner{Facts: rules.Facts{Mapping: mapping}, Suggest: servedTypes.Suggest(ref.Kind)}
	if mapping.NoResource {
		owner.Facts.Answer = rules.NotFound
		return owner
	}
	if !mapping.Resolves() || mapping.Type.Namespaced && namespace == "" {
		return owner
	}
	key := mapping.Type.Kind + " " + ref.Name
	if mapping.Type.Namespaced {
		owner.Namespace = namespace
		key = mapping.Type.Kind + " " + namespace + "/" + ref.Name
	}
	owner.Resource = schema.FromAPIVersionAndKind(ref.APIVersion, "").GroupVersion().WithResource(strings.ToLower(mapping.Type.Kind) + "s")
	if mapping.Type.Kind == c.broken {
		return owner
	}
	owner.Facts.Answer = rules.NotFound
	if found := c.objects[key]; found != nil {
		owner.Found = found
		owner.Facts = rules.Facts{
			Mapping: mapping, Answer: rules.Found, UID: found.UID,
			Deleting: found.DeletionTimestamp != nil, Finalizers: found.Finalizers,
		}
	}
	return owner
}

// newCluster has a Widget w and one that is being deleted in the foreground in namespace
// a, a StatefulSet there, and a ClusterWidget.
func newCluster() *cluster {
	object := func(namespace, name string, uid types.UID) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}}
	}
	going := object("a", "going", "uid-going")
	going.DeletionTimestamp = new(metav1.Now())
	going.Finalizers = []string{metav1.FinalizerDeleteDependents}
	owned := object("a", "owned", "uid-owned")
	owned.OwnerReferences = []metav1.OwnerReference{widget("between", "uid-between")}
	between := object("a", "between", "uid-between")
	between.OwnerReferences = []metav1.OwnerReference{widget("self", "uid-self")}
	return &cluster{objects: map[string]*metav1.PartialObjectMetadata{
		"Widget a/w":       object("a", "w", "uid-w"),
		"Widget a/going":   going,
		"Widget a/owned":   owned,
		"Widget a/between": between,
		"Widget a/self":    object("a", "self", "uid-self"),
		"StatefulSet a/db": object("a", "db", "uid-db"),
		"ClusterWidget cw": object("", "cw", "uid-cw"),
		"Deployment a/d":   object("a", "d", "uid-d"),
	}}
}

func widget(name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "acme.example/v1", Kind: "Widget", Name: name, UID: uid}
}

func ref(apiVersion, kind, name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid}
}

func controlling(r metav1.OwnerReference) metav1.OwnerReference {
	r.Controller = new(true)
	return r
}

func blocking(r metav1.OwnerReference) metav1.OwnerReference {
	r.BlockOwnerDeletion = new(true)
	return r
}

// namespaces reads the modes of these namespaces, by label.
func namespaces(t *testing.T, modes map[string]string) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for name, mode := range modes {
		ns := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"guard.platform.labhub.io/mode": mode}}}
		ns.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
		builder = builder.WithObjects(ns)
	}
	return builder.Build()
}

// review asks to create an object of a kind in a namespace with these references.
func review(kind, namespace string, refs ...metav1.OwnerReference) admission.Request {
	gvk := metav1.GroupVersionKind{Version: "v1", Kind: kind}
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "review", Operation: admissionv1.Create, Kind: gvk,
		Resource:  metav1.GroupVersionResource{Version: "v1", Resource: strings.ToLower(kind) + "s"},
		Namespace: namespace, Name: "it",
		UserInfo: authenticationv1.UserInfo{Username: "jane"},
		Object:   object(namespace, refs...),
	}}
}

// update asks to change the references of an object.
func update(review admission.Request, before ...metav1.OwnerReference) admission.Request {
	review.Operation = admissionv1.Update
	review.OldObject = object(review.Namespace, before...)
	return review
}

func object(namespace string, refs ...metav1.OwnerReference) runtime.RawExtension {
	raw, err := json.Marshal(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "it", UID: "uid-self", OwnerReferences: refs,
	}})
	if err != nil {
		panic(err)
	}
	return runtime.RawExtension{Raw: raw}
}
