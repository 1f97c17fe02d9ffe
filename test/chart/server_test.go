package chart

import (
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/helm"
	"labhub.io/teamspace/test/world"
)

// ofOthers are the groups of kinds that the sandbox does not serve. Those of cert-manager
// are tested with it.
var ofOthers = map[string]bool{"cert-manager.io": true, "monitoring.coreos.com": true}

// TestServer_Accepts: an API server takes every object of every set, with no field that it
// does not know.
func TestServer_Accepts(t *testing.T) {
	w := lab.World(t)
	installTest(t, w) // no pod without its account, not even by dry-run
	for _, set := range sets(t) {
		t.Run(set, func(t *testing.T) {
			for _, object := range objectsOf(t, set, service(t, w)...) {
				name := object.GetKind() + "/" + object.GetName()                                                                            // the answer has no name if it is an error
				err := w.Client.Patch(t.Context(), object, client.Apply, client.DryRunAll, client.FieldOwner("helm"), client.ForceOwnership) //nolint:staticcheck // objects of any kind, as they were rendered
				if meta.IsNoMatchError(err) && ofOthers[object.GroupVersionKind().Group] {
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func objectsOf(t *testing.T, set string, args ...string) []*unstructured.Unstructured {
	t.Helper()
	return helm.Objects(t, helm.Template(t, append(args, "--values="+filepath.Join("testdata", "values", set+".yaml"))...))
}

// TestServer_RefusesWhatItDoesNotKnow: else the test before this one would say nothing.
func TestServer_RefusesWhatItDoesNotKnow(t *testing.T) {
	w := lab.World(t)
	for _, object := range objectsOf(t, byDefault) {
		if object.GetKind() != "Deployment" {
			continue
		}
		if err := unstructured.SetNestedField(object.Object, "x", "spec", "replica"); err != nil {
			t.Fatal(err)
		}
		err := w.Client.Patch(t.Context(), object, client.Apply, client.DryRunAll, client.FieldOwner("helm"), client.ForceOwnership) //nolint:staticcheck // objects of any kind, as they were rendered
		if err == nil {
			t.Errorf("Deployment %q with a field that there is not was taken", object.GetName())
		}
	}
}

// TestRestricted: every pod of every set is let into a namespace that enforces the
// strictest Pod Security.
func TestRestricted(t *testing.T) {
	w := lab.World(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "restricted", Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest",
	}}}
	w.Create(t, ns)
	for _, account := range []string{"controller", "webhook", "drain", "test"} {
		w.Create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "teamspace-" + account}})
	}
	for _, set := range sets(t) {
		t.Run(set, func(t *testing.T) {
			pods := podsOf(t, objectsOf(t, set))
			if len(pods) < 3 {
				t.Fatalf("there are %d pods", len(pods))
			}
			for i := range pods {
				pod := &pods[i]
				pod.Namespace, pod.Spec.PriorityClassName = ns.Name, ""
				if err := w.Client.Create(t.Context(), pod.DeepCopy(), client.DryRunAll); err != nil {
					t.Errorf("pod of %s: %v", pod.Name, err)
				}
				pod.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem = new(false)
				pod.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = new(true)
				if err := w.Client.Create(t.Context(), pod, client.DryRunAll); !apierrors.IsForbidden(err) {
					t.Errorf("pod of %s that may become root: %v: the namespace enforces nothing", pod.Name, err)
				}
			}
		})
	}
}

// podsOf are the pods of Deployments and Jobs, and those that are made themselves.
func podsOf(t *testing.T, objects []*unstructured.Unstructured) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	for _, object := range objects {
		content := map[string]any{"spec": object.Object["spec"]}
		switch object.GetKind() {
		case "Deployment", "Job":
			template, found, err := unstructured.NestedMap(object.Object, "spec", "template")
			if err != nil || !found {
				t.Fatalf("%s %q has no template: %v", object.GetKind(), object.GetName(), err)
			}
			content = template
		case "Pod":
		default:
			continue
		}
		pod := corev1.Pod{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, &pod, true); err != nil {
			t.Fatal(err)
		}
		pod.Name = object.GetName()
		pods = append(pods, pod)
	}
	return pods
}

// TestRestricted_Hardened: what Pod Security does not ask for, and we do.
func TestRestricted_Hardened(t *testing.T) {
	for _, pod := range podsOf(t, objectsOf(t, byDefault)) {
		for _, container := range pod.Spec.Containers {
			if c := container.SecurityContext; c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem {
				t.Errorf("pod of %s: its root can be written", pod.Name)
			}
			if container.Resources.Limits.Memory().IsZero() {
				t.Errorf("pod of %s: its memory has no limit", pod.Name)
			}
		}
	}
}

// TestServiceOfMetrics leads to the pods that have metrics and to no others.
func TestServiceOfMetrics(t *testing.T) {
	w := lab.World(t)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: world.ReleaseNamespace, Name: "teamspace-metrics"}}
	w.Get(t, service)
	for _, pod := range podsOf(t, objectsOf(t, byDefault)) {
		selected, port := true, false
		for key, value := range service.Spec.Selector {
			selected = selected && pod.Labels[key] == value
		}
		for _, p := range pod.Spec.Containers[0].Ports {
			port = port || p.Name == service.Spec.Ports[0].TargetPort.StrVal
		}
		scraped := pod.Name == "teamspace-controller" || pod.Name == "teamspace-webhook"
		if (selected && port) != scraped {
			t.Errorf("pod of %s: selected %v, with such a port %v", pod.Name, selected, port)
		}
	}
}
