package explain

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// pageSize bounds an answer of the API server.
const pageSize = 500

// each lists a resource whole, and calls back for each object. What cannot be listed is
// noted.
func (g *gatherer) each(ctx context.Context, resource schema.GroupVersionResource, namespace string, do func(*unstructured.Unstructured) error) {
	page := &unstructured.UnstructuredList{}
	for {
		var err error
		page, err = g.cluster.Dynamic.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: pageSize, Continue: page.GetContinue()})
		if err != nil {
			g.fail(resource.GroupResource().String(), err)
			return
		}
		for i := range page.Items {
			if err := do(&page.Items[i]); err != nil {
				g.fail(resource.GroupResource().String(), fmt.Errorf("reading %s: %w", page.Items[i].GetName(), err))
			}
		}
		if page.GetContinue() == "" {
			return
		}
	}
}

// gatherCluster reads what the whole cluster's explanations have in common.
func (g *gatherer) gatherCluster(ctx context.Context, f *facts) {
	g.gatherWorkloads(ctx, f)
	g.gatherLeases(ctx, f)
	g.gatherNodes(ctx, f)
	g.gatherAPIServices(ctx, f)
	backends := g.backends(ctx)
	g.gatherWebhooks(ctx, f, backends)
	g.gatherConversions(ctx, f, backends)
}

func (g *gatherer) gatherWorkloads(ctx context.Context, f *facts) {
	apps := appsv1.SchemeGroupVersion
	for _, resource := range []string{"deployments", "statefulsets", "daemonsets"} {
		g.each(ctx, apps.WithResource(resource), "", func(o *unstructured.Unstructured) error {
			w, err := workloadOf(o)
			f.workloads = append(f.workloads, w)
			return err
		})
	}
}

// workloadOf reads a Deployment, StatefulSet or DaemonSet, which differ in how they count.
func workloadOf(o *unstructured.Unstructured) (workload, error) {
	var whole struct {
		Spec struct {
			Replicas *int32                 `json:"replicas"`
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
		Status struct {
			ReadyReplicas int32  `json:"readyReplicas"`
			NumberReady   int32  `json:"numberReady"`
			Desired       *int32 `json:"desiredNumberScheduled"`
		} `json:"status"`
	}
	if err := decode(o, &whole); err != nil {
		return workload{}, err
	}
	w := workload{kind: o.GetKind(), namespace: o.GetNamespace(), name: o.GetName(), ready: whole.Status.ReadyReplicas + whole.Status.NumberReady, wanted: 1}
	switch {
	case whole.Status.Desired != nil:
		w.wanted = *whole.Status.Desired
	case whole.Spec.Replicas != nil:
		w.wanted = *whole.Spec.Replicas
	}
	w.words = []string{o.GetNamespace(), o.GetName()}
	for _, label := range []string{"app.kubernetes.io/name", "app.kubernetes.io/part-of", "app.kubernetes.io/instance", "app", "component"} {
		if value := o.GetLabels()[label]; value != "" {
			w.words = append(w.words, value)
		}
	}
	for _, container := range whole.Spec.Template.Spec.Containers {
		w.words = append(w.words, container.Image)
	}
	return w, nil
}

func (g *gatherer) gatherLeases(ctx context.Context, f *facts) {
	g.each(ctx, coordinationv1.SchemeGroupVersion.WithResource("leases"), "", func(o *unstructured.Unstructured) error {
		if o.GetNamespace() == corev1.NamespaceNodeLease {
			return nil // those of the kubelets
		}
		var whole coordinationv1.Lease
		if err := decode(o, &whole); err != nil {
			return err
		}
		l := lease{namespace: whole.Namespace, name: whole.Name}
		if whole.Spec.HolderIdentity != nil {
			l.holder = *whole.Spec.HolderIdentity
		}
		if whole.Spec.RenewTime != nil {
			l.renewed = whole.Spec.RenewTime.Time
		}
		if whole.Spec.LeaseDurationSeconds != nil {
			l.duration = time.Duration(*whole.Spec.LeaseDurationSeconds) * time.Second
		}
		f.leases = append(f.leases, l)
		return nil
	})
}

func (g *gatherer) gatherNodes(ctx context.Context, f *facts) {
	g.each(ctx, corev1.SchemeGroupVersion.WithResource("nodes"), "", func(o *unstructured.Unstructured) error {
		_, ready := detail{conditions: conditionsOf(o)}.is("Ready")
		f.nodes = append(f.nodes, node{name: o.GetName(), ready: ready})
		return nil
	})
}

// apiServices is the resource of aggregated APIs.
var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

func (g *gatherer) gatherAPIServices(ctx context.Context, f *facts) {
	g.each(ctx, apiServices, "", func(o *unstructured.Unstructured) error {
		for _, c := range conditionsOf(o) {
			if c.kind == "Available" && c.status != "True" {
				namespace, _, _ := unstructured.NestedString(o.Object, "spec", "service", "namespace")
				name, _, _ := unstructured.NestedString(o.Object, "spec", "service", "name")
				f.unavailable = append(f.unavailable, apiService{
					name: o.GetName(), service: strings.TrimPrefix(namespace+"/"+name, "/"), reason: c.reason, message: c.message,
				})
			}
		}
		return nil
	})
}

// gatherClaims reads which Pods of a namespace use which claims.
func (g *gatherer) gatherClaims(ctx context.Context, f *facts, namespace string) {
	g.each(ctx, corev1.SchemeGroupVersion.WithResource("pods"), namespace, func(o *unstructured.Unstructured) error {
		var pod corev1.Pod
		if err := decode(o, &pod); err != nil {
			return err
		}
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			return nil
		}
		for i := range pod.Spec.Volumes {
			if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
				f.claims = append(f.claims, claimUse{namespace: pod.Namespace, claim: claim.ClaimName, pod: pod.Name})
			}
		}
		return nil
	})
}

// gatherNamespaces reads the labels of namespaces, by which webhooks choose.
func (g *gatherer) gatherNamespaces(ctx context.Context, f *facts) {
	g.each(ctx, corev1.SchemeGroupVersion.WithResource("namespaces"), "", func(o *unstructured.Unstructured) error {
		f.namespaces[o.GetName()] = o.GetLabels()
		return nil
	})
}
