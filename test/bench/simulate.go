package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
)

// Simulation is an API server that has nothing but lists, made up as they are asked for:
// of four types, each with as many objects, whose owners are all there.
type Simulation struct {
	objects    int
	serializer *protobuf.Serializer
}

var simulated = []string{"configmaps ConfigMap", "secrets Secret", "serviceaccounts ServiceAccount", "pods Pod"}

// NewSimulation returns a server with so many objects.
func NewSimulation(objects int) (*Simulation, error) {
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		return nil, err
	}
	return &Simulation{objects: objects, serializer: protobuf.NewSerializer(scheme, scheme)}, nil
}

// ServeHTTP implements http.Handler.
func (s *Simulation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch name, isList := strings.CutPrefix(r.URL.Path, "/api/v1/"); {
	case r.URL.Path == "/api":
		answer(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		answer(w, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}})
	case r.URL.Path == "/api/v1":
		answer(w, resourceList())
	case isList:
		s.list(w, r, name)
	default:
		http.NotFound(w, r)
	}
}

func resourceList() metav1.APIResourceList {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1"}
	verbs := metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"}
	for _, s := range simulated {
		name, kind, _ := strings.Cut(s, " ")
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Kind: kind, Namespaced: true, Verbs: verbs})
	}
	return list
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // whoever has gone does not want it
}

// list answers with one page.
func (s *Simulation) list(w http.ResponseWriter, r *http.Request, resource string) {
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil {
		http.Error(w, "want pages", http.StatusBadRequest)
		return
	}
	first, _ := strconv.Atoi(r.URL.Query().Get("continue")) // none: the first page
	last := min(first+limit, s.objects/len(simulated))
	page := &metav1.PartialObjectMetadataList{}
	page.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"))
	for i := first; i < last; i++ {
		page.Items = append(page.Items, item(resource, i))
	}
	if last < s.objects/len(simulated) {
		page.Continue = strconv.Itoa(last)
	}
	var body bytes.Buffer
	if err := s.serializer.Encode(page, &body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
	_, _ = w.Write(body.Bytes()) // whoever has gone does not want it
}

// item is an object; all but ConfigMaps are owned by one, ten each.
func item(resource string, i int) metav1.PartialObjectMetadata {
	uid := func(resource string, i int) types.UID {
		return types.UID(fmt.Sprintf("%s00-0000-0000-0000-%012d", (resource + "000000")[:6], i))
	}
	o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespaceOf(i / 10), Name: fmt.Sprintf("dependent-of-the-owner-%07d", i), UID: uid(resource, i),
		Labels:        map[string]string{"app.kubernetes.io/name": "bench", "app.kubernetes.io/instance": strconv.Itoa(i)},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "bench", Operation: "Update", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{},"f:app.kubernetes.io/name":{},"f:app.kubernetes.io/instance":{}},"f:ownerReferences":{}}}`)}},
	}}
	if resource != "configmaps" {
		owner := i / 10 * 10
		o.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "ConfigMap", Name: fmt.Sprintf("dependent-of-the-owner-%07d", owner), UID: uid("configmaps", owner),
			Controller: new(true), BlockOwnerDeletion: new(true),
		}}
	}
	return o
}
