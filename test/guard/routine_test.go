package guard

import (
	"context"
	"fmt"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/world"
)

// routine is a write that happens in every cluster all the time and changes no
// reference.
type routine struct {
	name  string
	write func(ctx context.Context, number int) error
}

// routines makes the objects that the writes are about. Each has an owner where such an
// object usually has one.
func routines(t testing.TB, w *world.World) []routine {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "routine"}}
	w.Create(t, node)
	ofNode := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}}
	w.Get(t, service)
	ofService := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: service.Name, UID: service.UID}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "routine", OwnerReferences: ofNode},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "none", Image: "none"}}},
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: node.Name, OwnerReferences: ofNode}}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: "routine", OwnerReferences: ofService},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	labelled := configMap("default", "routine", ofNode...)
	w.Create(t, pod, lease, slice, labelled)

	patch := func(object client.Object, format string) func(context.Context, int) error {
		return func(ctx context.Context, number int) error {
			return w.Client.Patch(ctx, object, mergePatch(fmt.Sprintf(format, number)))
		}
	}
	status := func(object client.Object, format string) func(context.Context, int) error {
		return func(ctx context.Context, number int) error {
			return w.Client.Status().Patch(ctx, object, mergePatch(fmt.Sprintf(format, number)))
		}
	}
	return []routine{
		{"lease", patch(lease, `{"spec":{"leaseTransitions":%d}}`)},
		{"endpoints", patch(slice, `{"endpoints":[{"addresses":["10.0.0.%d"]}]}`)},
		{"node status", status(node, `{"status":{"nodeInfo":{"bootID":"%d"}}}`)},
		{"pod status", status(pod, `{"status":{"message":"%d"}}`)},
		{"label", patch(labelled, `{"metadata":{"labels":{"n":"%d"}}}`)},
		{"event", func(ctx context.Context, _ int) error { return w.Client.Create(ctx, event()) }},
	}
}

func event() *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "routine-"},
		EventTime:  metav1.NowMicro(), Type: corev1.EventTypeNormal, Reason: "Routine", Action: "Write",
		ReportingController: "acme.example/routine", ReportingInstance: "routine",
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: "default", Name: "kubernetes"},
	}
}
