package dev

import (
	"net"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"labhub.io/teamspace/sandbox/chart"
)

// labelled is a Deployment whose pods have a label, and whose container has these arguments.
func labelled(app string, args ...string) *appsv1.Deployment {
	return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app, "more": "x"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Args: args}}},
	}}}
}

// service leads to the pods of an app.
func service(ip, app string, port any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "s"},
		"spec": map[string]any{
			"clusterIP": ip, "selector": map[string]any{"app": app}, "ports": []any{map[string]any{"port": port}},
		},
	}}
}

func TestProduct_WebhookAddress(t *testing.T) {
	for name, tc := range map[string]struct {
		objects []*unstructured.Unstructured
		want    string
	}{
		"no Service":                   {},
		"a Service":                    {[]*unstructured.Unstructured{service(serviceIP, "a", int64(20001))}, "127.64.0.10:20001"},
		"with a number out of JSON":    {[]*unstructured.Unstructured{service(serviceIP, "a", float64(20001))}, "127.64.0.10:20001"},
		"a Service of other pods":      {[]*unstructured.Unstructured{service(serviceIP, "b", int64(20001))}, ""},
		"a Service somewhere else":     {[]*unstructured.Unstructured{service("", "a", int64(20001))}, ""},
		"a Service without a port":     {[]*unstructured.Unstructured{service(serviceIP, "a", nil)}, ""},
		"the second of two is its own": {[]*unstructured.Unstructured{service(serviceIP, "b", int64(1)), service(serviceIP, "a", int64(2))}, "127.64.0.10:2"},
	} {
		p := &Product{manifests: &chart.Manifests{Objects: tc.objects}}
		if got := p.webhookAddress(labelled("a")); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestProduct_ServiceValues(t *testing.T) {
	p := newProduct(t, newAPIServer(t), "single", nil)
	if got, err := p.serviceValues(); err != nil || got != nil {
		t.Errorf("of a chart without webhooks: %q, %v", got, err)
	}
	p.options.Chart = "../../charts/teamspace"
	got, err := p.serviceValues()
	if err != nil || len(got) != 2 || got[0] != "webhook.clusterIP=127.64.0.10" {
		t.Fatalf("of the product's chart: %q, %v", got, err)
	}
	// Somebody can listen there.
	number, _ := strings.CutPrefix(got[1], "webhook.port=")
	listener, err := net.Listen("tcp", net.JoinHostPort(serviceIP, number))
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
}

// TestProduct_Refusals: what has to be refused is what the chart brings.
func TestProduct_Refusals(t *testing.T) {
	kind := func(names ...string) []*unstructured.Unstructured {
		var all []*unstructured.Unstructured
		for _, name := range names {
			all = append(all, &unstructured.Unstructured{Object: map[string]any{"kind": name}})
		}
		return all
	}
	for name, tc := range map[string]struct {
		objects []*unstructured.Unstructured
		args    []string
		want    []string
	}{
		"nothing":                {},
		"the guard":              {kind("ValidatingWebhookConfiguration"), []string{"--guard-mode=enforce"}, []string{"ownerreferences"}},
		"the guard that warns":   {kind("ValidatingWebhookConfiguration"), []string{"--guard-mode=warn"}, nil},
		"the policies":           {kind("ValidatingAdmissionPolicy"), nil, []string{"namespaces", "webhookconfigurations"}},
		"all of it, and nothing": {kind("ConfigMap"), []string{"--guard-mode=enforce"}, nil},
	} {
		p := &Product{manifests: &chart.Manifests{Objects: tc.objects, Deployments: []*appsv1.Deployment{labelled("a", tc.args...)}}}
		var got []string
		for _, r := range p.refusals() {
			by, _ := strings.CutSuffix(r.by, ".platform.labhub.io")
			got = append(got, by)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
