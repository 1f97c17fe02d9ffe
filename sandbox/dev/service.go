package dev

import (
	"net"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"labhub.io/teamspace/sandbox/chart"
)

// serviceIP is the address of the Service that the API server calls webhooks by. It is
// one of the cluster's addresses for Services, and since those are loopback addresses
// here, a process can listen on it: the chart's own webhook configurations hold without
// a proxy. Sandboxes that run side by side differ in the port.
const serviceIP = "127.64.0.10"

// serviceValues gives the Service of the webhooks its address and a free port, if the
// chart knows of one.
func (p *Product) serviceValues() ([]string, error) {
	known, err := chart.HasValue(p.options.Chart, "webhook", "clusterIP")
	if err != nil || !known {
		return nil, err
	}
	address, err := p.picker.FreeAt(serviceIP)
	if err != nil {
		return nil, err
	}
	_, number, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return []string{"webhook.clusterIP=" + serviceIP, "webhook.port=" + number}, nil
}

// webhookAddress is where the process of the Deployment has to serve webhooks: where the
// Service is that leads to its pods. It is empty if there is none.
func (p *Product) webhookAddress(deployment *appsv1.Deployment) string {
	for _, object := range p.manifests.Objects {
		if object.GetKind() != "Service" {
			continue
		}
		ip, _, _ := unstructured.NestedString(object.Object, "spec", "clusterIP")
		selector, _, _ := unstructured.NestedStringMap(object.Object, "spec", "selector")
		leads := len(selector) > 0 && labels.SelectorFromSet(selector).Matches(labels.Set(deployment.Spec.Template.Labels))
		if number := servicePort(object); ip == serviceIP && leads && number > 0 {
			return net.JoinHostPort(ip, strconv.FormatInt(number, 10))
		}
	}
	return ""
}

// servicePort is the first port of a Service, 0 if it has none. A manifest's numbers are
// whatever its decoder makes of numbers.
func servicePort(service *unstructured.Unstructured) int64 {
	ports, _, _ := unstructured.NestedFieldNoCopy(service.Object, "spec", "ports")
	list, _ := ports.([]any)
	if len(list) == 0 {
		return 0
	}
	entry, _ := list[0].(map[string]any)
	switch number := entry["port"].(type) {
	case int64:
		return number
	case float64:
		return int64(number)
	default:
		return 0
	}
}
