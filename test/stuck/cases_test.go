package stuck

import (
	"context"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/oracle/live"
	"labhub.io/teamspace/test/world"
)

// The cases are those of public reports; each explanation has to name what a person needs.

// TestC31: a definition waits for an object that waits for an operator that is gone.
func TestC31(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "c31")
	define(t, w, live.Definition{Group: "c31.example", Kind: "Lever", Namespaced: true, Versions: []live.Version{{Name: "v1"}}})
	create(t, w, "c31.example/v1", "Lever", ns, "l", held("acme.example/cleanup"))
	deleteWith(t, w, "background", "crd", "levers.c31.example")
	awaitExplained(t, w, []string{
		"(E7)", "Lever c31/l is being deleted", "finalizer acme.example/cleanup", "no running workload found for this group (acme.example)",
		"re-install the operator of acme.example", "kubectl -n c31 edit levers.c31.example/l",
	}, "customresourcedefinition/levers.c31.example")
	marked := w.Plugin(t, "explain", "lever/l", "-n", ns, "--audit-log="+w.AuditLog())
	if !strings.Contains(marked.Out, "its type, CustomResourceDefinition levers.c31.example, was deleted at ") {
		t.Errorf("who has deleted it: %+v", marked)
	}
}

func define(t *testing.T, w *world.World, d live.Definition) {
	t.Helper()
	cluster, err := live.New(w.Admin)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Define(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// TestC34: an operator is removed before its objects; with one that is only not ready, that
// one is named.
func TestC34(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "c34")
	widget(t, w, ns, "w", held("wheelworks.example/cleanup"))
	deleteWith(t, w, "background", "widget", "w", "-n", ns)
	awaitExplained(t, w, []string{
		"finalizer wheelworks.example/cleanup", "no running workload found for this group (wheelworks.example)", "re-install the operator", "clean up by hand",
	}, "widget/w", "-n", ns)
	create(t, w, "apps/v1", "Deployment", ns, "wheelworks-operator",
		field(int64(1), "spec", "replicas"),
		field(map[string]any{"app": "x"}, "spec", "selector", "matchLabels"),
		field(map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "x"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "x", "image": "x"}}},
		}, "spec", "template"))
	awaitExplained(t, w, []string{"probably Deployment c34/wheelworks-operator, 0 of 1 ready"}, "widget", "w", "-n", ns)
}

// TestC53: the managers of a finalizer are named.
func TestC53(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "c53")
	widget(t, w, ns, "w")
	for _, manager := range []string{"m1", "m2"} {
		manifest := `{"apiVersion":"acme.example/v1","kind":"Widget","metadata":{"name":"w","namespace":"c53","finalizers":["c53.example/one"]}}`
		if answer := w.KubectlWith(t, manifest, "apply", "--server-side", "--field-manager="+manager, "-f", "-"); answer.Code != 0 {
			t.Fatal(answer.Out)
		}
	}
	deleteWith(t, w, "background", "widget", "w", "-n", ns)
	awaitExplained(t, w, []string{"c53.example/one (set by m1, m2)", "Widget c53/w was marked as being deleted at ", "by sandbox-admin with propagationPolicy Background"},
		"widget/w", "-n", ns, "--audit-log="+w.AuditLog())
}

// TestC21: a webhook configuration that a Deployment owns blocks its foreground deletion for
// ever, and outlives the Service that it calls.
func TestC21(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "c21")
	deployment := create(t, w, "apps/v1", "Deployment", ns, "wh",
		field(int64(0), "spec", "replicas"),
		field(map[string]any{"app": "wh"}, "spec", "selector", "matchLabels"),
		field(map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "wh"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "x", "image": "x"}}},
		}, "spec", "template"))
	webhook(t, w, "c21", ns, "DELETE", blocking(deployment))
	widget(t, w, ns, "w")
	deleteWith(t, w, "foreground", "deployment", "wh", "-n", ns)
	awaitExplained(t, w, []string{
		"ValidatingWebhookConfiguration c21 blocks Deployment c21/wh for ever", "(F5)",
		"ValidatingWebhookConfiguration c21 blocks it; delete it again in the background", "delete deployments.apps/wh --cascade=background",
	}, "deployment/wh", "-n", ns)
	deleteWith(t, w, "background", "deployment", "wh", "-n", ns)
	deleteWith(t, w, "background", "namespace", ns)
	awaitExplained(t, w, []string{
		"webhook c21.acme.example of ValidatingWebhookConfiguration c21 (service c21/wh: missing) rejects delete",
		"kubectl delete validatingwebhookconfiguration c21", "widgets.acme.example: 1 left",
	}, "namespace/"+ns)
	w.MustKubectl(t, "delete", "validatingwebhookconfiguration", "c21")
}

// webhook is a configuration that fails closed, for widgets of one namespace.
func webhook(t *testing.T, w *world.World, name, ns, operation string, change ...func(*unstructured.Unstructured)) {
	t.Helper()
	create(t, w, "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", name, append(change, field([]any{map[string]any{
		"name": name + ".acme.example", "sideEffects": "None", "admissionReviewVersions": []any{"v1"}, "failurePolicy": "Fail",
		"clientConfig":      map[string]any{"service": map[string]any{"namespace": ns, "name": "wh"}},
		"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": ns}},
		"rules": []any{map[string]any{
			"operations": []any{operation}, "apiGroups": []any{"acme.example"}, "apiVersions": []any{"*"}, "resources": []any{"widgets"},
		}},
	}}, "webhooks"))...)
}

// TestC40: the Service of a webhook goes first, and the webhook then keeps the rest.
func TestC40(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "c40")
	widget(t, w, ns, "w")
	webhook(t, w, "c40", ns, "DELETE")
	deleteWith(t, w, "background", "namespace", ns)
	awaitExplained(t, w, []string{
		"widgets.acme.example: 1 left in Namespace c40", "service c40/wh: missing) rejects delete", "bring Service c40/wh back",
		"at its last attempt the namespace controller failed", "c40.acme.example",
	}, "ns", ns)
	w.MustKubectl(t, "delete", "validatingwebhookconfiguration", "c40")
}

// TestC38: a webhook that cannot be called keeps a finalizer from being taken off.
func TestC38(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "c38")
	widget(t, w, ns, "w", held("acme.example/one"))
	webhook(t, w, "c38", ns, "UPDATE")
	deleteWith(t, w, "background", "widget", "w", "-n", ns)
	awaitExplained(t, w, []string{"rejects update of widgets, also that which takes a finalizer off"}, "widget/w", "-n", ns)
	w.MustKubectl(t, "delete", "validatingwebhookconfiguration", "c38")
}

// TestDeadlocks are rows F6 and F7; F5 is C21.
func TestDeadlocks(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "deadlocks")
	self := widget(t, w, ns, "self")
	w.Patch(t, self, `{"metadata":{"ownerReferences":[{"apiVersion":"acme.example/v1","kind":"Widget","name":"self","uid":"`+string(self.GetUID())+`","blockOwnerDeletion":true}]}}`)
	owner := widget(t, w, ns, "owner")
	create(t, w, "v1", "ConfigMap", ns, "child", blocking(owner), func(o *unstructured.Unstructured) {
		late := o.GetOwnerReferences()[0]
		late.Kind, late.Name, late.UID = "Neverserved", "nobody", "0"
		o.SetOwnerReferences(append(o.GetOwnerReferences(), late))
	})
	deleteWith(t, w, "foreground", "widget", "self", "owner", "-n", ns)
	awaitExplained(t, w, []string{"(F6)", "Widget deadlocks/self blocks it", "--cascade=background"}, "widget/self", "-n", ns)
	awaitExplained(t, w, []string{"(F7)", "ConfigMap deadlocks/child blocks it", "--cascade=background"}, "widget/owner", "-n", ns)
	// The way out is one.
	deleteWith(t, w, "background", "widget", "self", "owner", "-n", ns)
	w.AwaitGone(t, self)
	w.AwaitGone(t, owner)
}

// TestNamespace: pods are named although the conditions say that all is gone (N1), and so are
// the finalizers of the metadata (N2).
func TestNamespace(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "full")
	create(t, w, "v1", "Pod", ns, "p", held("acme.example/pod"), field([]any{map[string]any{"name": "x", "image": "x"}}, "spec", "containers"))
	create(t, w, "v1", "ConfigMap", ns, "c")
	w.MustKubectl(t, "patch", "namespace", ns, "--type=merge", "-p", `{"metadata":{"finalizers":["acme.example/space"]}}`)
	deleteWith(t, w, "background", "namespace", ns)
	awaitExplained(t, w, []string{
		"pods: 1 left in Namespace full", "(N1)", "Pod full/p", "acme.example/pod",
		"the metadata of Namespace full has the finalizers acme.example/space", "(N2)", "configmaps: ",
	}, "namespace/"+ns)
	if out := w.MustPlugin(t, 1, "stuck", "namespaces"); !strings.Contains(out, "STUCK Namespace/full finalizers=acme.example/space,kubernetes\n") {
		t.Errorf("the report is\n%s", out)
	}
}

// TestClaim: a claim that a pod uses.
func TestClaim(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "claims")
	create(t, w, "v1", "PersistentVolumeClaim", ns, "data",
		field([]any{"ReadWriteOnce"}, "spec", "accessModes"), field("1Gi", "spec", "resources", "requests", "storage"))
	create(t, w, "v1", "Pod", ns, "db", field([]any{map[string]any{"name": "x", "image": "x"}}, "spec", "containers"),
		field([]any{map[string]any{"name": "data", "persistentVolumeClaim": map[string]any{"claimName": "data"}}}, "spec", "volumes"),
		field("nowhere", "spec", "nodeName"))
	deleteWith(t, w, "background", "pvc", "data", "-n", ns)
	awaitExplained(t, w, []string{"is used by the pods db", "delete those pods"}, "pvc/data", "-n", ns)
}

// TestBroken is C32 and C49: an aggregated API that is down, and a conversion webhook that is
// missing, as long as one of which no namespace can go. It is alone, since it breaks the
// cluster for everybody.
func TestBroken(t *testing.T) {
	w := lab.World(t)
	ns := namespace(t, w, "c32")
	create(t, w, "apiregistration.k8s.io/v1", "APIService", "", "v1beta1.metrics.c32.example",
		field("metrics.c32.example", "spec", "group"), field("v1beta1", "spec", "version"), field(true, "spec", "insecureSkipTLSVerify"),
		field(int64(100), "spec", "groupPriorityMinimum"), field(int64(100), "spec", "versionPriority"),
		field(map[string]any{"namespace": "c32-away", "name": "metrics-server"}, "spec", "service"))
	convertible(t, w)
	deleteWith(t, w, "background", "namespace", ns)
	words := []string{
		"APIService v1beta1.metrics.c32.example is unavailable", "service c32-away/metrics-server",
		"content is deleted all the same, only the final step waits", "kubectl delete apiservice v1beta1.metrics.c32.example",
		"cannot list olds.c49.example: conversion webhook c49-away/conv: missing",
	}
	world.Eventually(t, world.CollectorPatience, "explaining the namespace", func() error {
		report := w.Plugin(t, "explain", "namespace/"+ns)
		if report.Code != 2 {
			t.Errorf("exit code %d, want 2: not everything can be read", report.Code)
		}
		return lacks(report.Out, words)
	})
	report := w.Plugin(t, "stuck", "-n", ns, "-o", "json")
	var document struct {
		Incomplete []struct{ Resource, Reason string }
		Summary    map[string]int
	}
	decode(t, report.Out, &document)
	resources := map[string]bool{}
	for _, i := range document.Incomplete {
		resources[i.Resource] = true
	}
	if report.Code != 2 || !resources["olds.c49.example"] || !resources["v1beta1.metrics.c32.example"] || document.Summary["incomplete"] != len(document.Incomplete) {
		t.Errorf("exit code %d, incomplete %v", report.Code, document)
	}
	if report := w.Plugin(t, "stuck", "sites", "-n", ns); report.Code != 0 || report.Out != "NONE\n" {
		t.Errorf("a type that can be read has nothing to do with it: %+v", report)
	}
}

// convertible makes a type whose objects are stored in a version that only a missing webhook
// converts.
func convertible(t *testing.T, w *world.World) {
	t.Helper()
	define(t, w, live.Definition{Group: "c49.example", Kind: "Old", Namespaced: true, Versions: []live.Version{{Name: "v1beta1"}, {Name: "v1"}}})
	create(t, w, "c49.example/v1beta1", "Old", namespace(t, w, "c49"), "o")
	patch := `{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"c49-away","name":"conv"}}}}}}`
	w.MustKubectl(t, "patch", "crd", "olds.c49.example", "--type=merge", "-p", patch)
	t.Cleanup(func() {
		none := w.Client.Patch(context.WithoutCancel(t.Context()), &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "olds.c49.example"}},
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)))
		if none != nil {
			t.Error(none)
		}
	})
}

// TestC54: nobody blocks, and the collector does not act: it is only blamed after a second
// look.
func TestC54(t *testing.T) {
	w := lab.World(t)
	ns := namespace(t, w, "c54")
	widget(t, w, ns, "w")
	w.Stop(t, world.ControllerManager)
	deleteWith(t, w, "foreground", "widget", "w", "-n", ns)
	report := w.Plugin(t, "explain", "widget/w", "-n", ns)
	if report.Code != 1 {
		t.Errorf("exit code %d", report.Code)
	}
	if err := lacks(report.Out, []string{"none is found that blocks it, not some seconds later either", "--cascade=background", "see that kube-controller-manager runs"}); err != nil {
		t.Error(err)
	}
	if _, after, _ := strings.Cut(report.Out, "Way out:"); strings.Index(after, "see that kube-controller-manager runs") > strings.Index(after, "--cascade=background") {
		t.Errorf("what is safe does not come first:\n%s", report.Out)
	}
}
