package explain

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/ownership/rules"
)

var noon = time.Date(2030, time.May, 4, 12, 0, 0, 0, time.UTC)

// factsOf are the facts of a scenario on a cluster on which kube-controller-manager runs and
// an operator does not.
func factsOf(s *ownershiptest.Scenario) *facts {
	return &facts{
		graph: s.Graph, present: rules.Predict(s.Graph), now: noon, details: map[graph.ID]detail{},
		resource: func(id graph.ID) schema.GroupVersionResource {
			apiVersion, kind, _ := s.Graph.Kind(id)
			plural, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(apiVersion, kind))
			return plural
		},
		leases:     []lease{{namespace: "kube-system", name: "kube-controller-manager", holder: "h", renewed: noon.Add(-time.Second), duration: 15 * time.Second}},
		workloads:  []workload{{kind: "Deployment", namespace: "kept", name: "keeper", ready: 0, wanted: 1, words: []string{"kept", "keeper"}}},
		namespaces: map[string]map[string]string{},
	}
}

// explained is the explanation of the first object of a scenario, for people.
func explained(t *testing.T, f *facts) string {
	t.Helper()
	explanation, _ := explainFacts(f, 0)
	var out strings.Builder
	p := printer{out: &out, strong: func(text string) string { return text }}
	if err := p.report(&Report{Explanation: explanation}); err != nil {
		t.Fatal(err)
	}
	for _, never := range []string{"/finalize", "spec.finalizers"} {
		if strings.Contains(out.String(), never) {
			t.Errorf("the explanation speaks of %s:\n%s", never, out.String())
		}
	}
	return strings.ReplaceAll(out.String(), "\n\n", "\n")
}

func TestGolden(t *testing.T) {
	ownershiptest.Golden(t, "testdata/*.txt", func(s *ownershiptest.Scenario) string {
		f := factsOf(s)
		f.twice = strings.HasPrefix(s.Prose[0], "C54")
		return explained(t, f)
	})
}

func scenario(t *testing.T, text string) *facts {
	t.Helper()
	s, err := ownershiptest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return factsOf(s)
}

func anything(map[string]string) bool { return true }

// broken is a webhook that fails closed and has nobody behind it.
func broken() webhook {
	return webhook{
		kind: "ValidatingWebhookConfiguration", configuration: "v", name: "wh.acme.example",
		backend:          backend{service: "n/wh", fault: "missing"},
		rules:            []webhookRule{{operations: []string{"DELETE"}, groups: []string{"acme.example"}, resources: []string{"widgets"}}},
		selects:          anything,
		selectsNamespace: func(labels map[string]string) bool { return labels["exempt"] != "true" },
	}
}

// TestExplain is what the objects alone do not tell.
func TestExplain(t *testing.T) {
	for name, tc := range map[string]struct {
		scenario string
		facts    func(*facts)
		want     []string
		never    string
	}{
		"C32 an aggregated API is down": {
			scenario: "Namespace n dying",
			facts: func(f *facts) {
				f.unavailable = []apiService{{name: "v1beta1.metrics.k8s.io", service: "kube-system/metrics-server", reason: "MissingEndpoints", message: "no endpoints"}}
			},
			want: []string{
				"APIService v1beta1.metrics.k8s.io is unavailable (MissingEndpoints, service kube-system/metrics-server)",
				"content is deleted all the same, only the final step waits", "kubectl delete apiservice v1beta1.metrics.k8s.io",
			},
		},
		"C40 a webhook rejects the deletion of what is left": {
			scenario: "Namespace n dying\nWidget n/w",
			facts:    func(f *facts) { f.webhooks = []webhook{broken()} },
			want: []string{
				"webhook wh.acme.example of ValidatingWebhookConfiguration v (service n/wh: missing) rejects delete of widgets",
				"kubectl delete validatingwebhookconfiguration v",
			},
		},
		"a namespace that the webhook leaves out": {
			scenario: "Namespace n dying\nWidget n/w",
			facts: func(f *facts) {
				f.webhooks, f.namespaces["n"] = []webhook{broken()}, map[string]string{"exempt": "true"}
			},
			never: "webhook",
		},
		"a webhook that is about something else": {
			scenario: "Namespace n dying\nGadget n/g",
			facts:    func(f *facts) { f.webhooks = []webhook{broken()} },
			never:    "webhook",
		},
		"a webhook keeps the collector from a blocker": {
			scenario: "Gadget n/g dying [fg]\nWidget n/w -> Gadget g +b",
			facts:    func(f *facts) { f.webhooks = []webhook{broken()} },
			want:     []string{"rejects delete of widgets", "bring Service n/wh back"},
		},
		"a webhook for everything": {
			scenario: "Widget n/w dying [acme.example/hold]",
			facts: func(f *facts) {
				w := broken()
				w.rules[0] = webhookRule{operations: []string{"*"}, groups: []string{"*"}, resources: []string{"*/*"}}
				f.webhooks = []webhook{w}
			},
			want: []string{"rejects delete and update of widgets"},
		},
		"a webhook with conditions may reject": {
			scenario: "Widget n/w dying [acme.example/hold]",
			facts: func(f *facts) {
				w := broken()
				w.conditional, w.rules[0].operations = true, []string{"UPDATE"}
				f.webhooks = []webhook{w}
			},
			want: []string{"may reject update of widgets, also that which takes a finalizer off"},
		},
		"C49 a conversion webhook is missing": {
			scenario: "Namespace n dying",
			facts: func(f *facts) {
				f.incomplete = []inventory.Incomplete{{Resource: "widgets.acme.example", Reason: "conversion webhook failed"}}
				f.conversions = []conversion{{definition: "widgets.acme.example", backend: backend{service: "a/conv", fault: "missing"}}}
			},
			want: []string{"cannot list widgets.acme.example: conversion webhook a/conv: missing", "bring the conversion webhook of CustomResourceDefinition widgets.acme.example back"},
		},
		"a type of a namespace that cannot be listed": {
			scenario: "Namespace n dying",
			facts: func(f *facts) {
				f.incomplete = []inventory.Incomplete{{Resource: "widgets.acme.example", Reason: "forbidden"}}
			},
			want: []string{"cannot list widgets.acme.example; if the namespace controller is answered the same, what is left of it cannot be deleted: forbidden"},
		},
		"C41 a webhook that denied": {
			scenario: "Namespace n dying\nWidget n/w",
			facts: func(f *facts) {
				f.details[0] = detail{conditions: []condition{{"NamespaceDeletionContentFailure", "True", "ContentDeletionFailed", `admission webhook "search.example" denied the request: protected`}}}
			},
			want: []string{"failed: admission webhook", "webhook search.example denies the deletion"},
		},
		"N4 a server that was away at the last attempt, and is back": {
			scenario: "Namespace n dying",
			facts: func(f *facts) {
				f.details[0] = detail{conditions: []condition{{"NamespaceDeletionDiscoveryFailure", "True", "DiscoveryFailed", "metrics.k8s.io/v1beta1: stale"}}}
			},
			want: []string{
				"at its last attempt the namespace controller failed: metrics.k8s.io/v1beta1: stale; the cause of that is gone",
				"1. Namespace n: wait: the namespace controller tries again by itself, usually within a minute",
			},
		},
		"N4 what a webhook denied is gone by now": {
			scenario: "Namespace n dying",
			facts: func(f *facts) {
				f.details[0] = detail{conditions: []condition{{"NamespaceDeletionContentFailure", "True", "ContentDeletionFailed", `admission webhook "search.example" denied the request: protected`}}}
			},
			want:  []string{"the cause of that is gone", "tries again by itself"},
			never: "denies the deletion",
		},
		"N4 the cause is gone, and so is the namespace controller": {
			scenario: "Namespace n dying",
			facts: func(f *facts) {
				f.details[0] = detail{conditions: []condition{{"NamespaceDeletionDiscoveryFailure", "True", "DiscoveryFailed", "stale"}}}
				f.leases[0].renewed = noon.Add(-time.Minute)
			},
			want:  []string{"1. Namespace n: see that kube-controller-manager runs (Lease kube-system/kube-controller-manager not renewed for 1m0s, so it does not run); its namespace controller then"},
			never: "wait:",
		},
		"C54 the collector does not run": {
			scenario: "Gadget n/g dying [fg]",
			facts: func(f *facts) {
				f.twice = true
				f.leases[0].renewed = noon.Add(-time.Minute)
			},
			want:  []string{"1. Gadget n/g: see that kube-controller-manager runs (Lease kube-system/kube-controller-manager not renewed for 1m0s, so it does not run); it then goes on"},
			never: "--cascade=background",
		},
		"the collector does not run, and has a blocker to delete": {
			scenario: "Gadget n/g dying [fg]\nWidget n/w -> Gadget g +b",
			facts:    func(f *facts) { f.leases[0].holder = "" },
			want:     []string{"1. Gadget n/g: see that kube-controller-manager runs"},
			never:    "look again",
		},
		"E3 the one finalizer that nobody takes off": {
			scenario: "Widget n/w dying [keeper.example/a acme.example/hold]",
			want: []string{
				"no running workload found for this group (acme.example)", "re-install the operator of acme.example, which takes the finalizer acme.example/hold off",
				"remove that one finalizer, and no other: kubectl -n n edit widgets.acme.example/w",
			},
		},
		"E2 a pod within its grace period": {
			scenario: "Pod a/p dying",
			facts:    func(f *facts) { f.details[0] = detail{deleted: noon.Add(20 * time.Second), grace: 30 * time.Second} },
			want:     []string{"Pod a/p is being deleted\n", "has 20s of its grace period left"},
		},
		"E2 a node that is not ready": {
			scenario: "Pod a/p dying",
			facts: func(f *facts) {
				f.details[0] = detail{deleted: noon.Add(-time.Hour), grace: 30 * time.Second, node: "worker"}
				f.nodes = []node{{name: "worker"}}
			},
			want: []string{"Node worker, which is not ready", "bring Node worker back"},
		},
		"E2 a node that does not exist": {
			scenario: "Pod a/p dying",
			facts: func(f *facts) {
				f.details[0] = detail{deleted: noon.Add(-time.Hour), grace: 30 * time.Second, node: "worker"}
			},
			want: []string{"Node worker, which does not exist", "pod garbage collector"},
		},
		"E2 a kubelet that does not finish": {
			scenario: "Pod a/p dying",
			facts: func(f *facts) {
				f.details[0] = detail{deleted: noon.Add(-time.Hour), grace: 30 * time.Second, node: "worker"}
				f.nodes = []node{{name: "worker", ready: true}}
			},
			want: []string{"whose kubelet has not confirmed"},
		},
		"a claim in use": {
			scenario: "PersistentVolumeClaim a/data dying [kubernetes.io/pvc-protection]",
			facts: func(f *facts) {
				f.claims = []claimUse{{"a", "data", "db-0"}, {"a", "other", "x"}, {"b", "data", "y"}}
			},
			want: []string{"is used by the pods db-0, and goes when", "delete those pods"},
		},
		"a claim that nobody uses": {
			scenario: "PersistentVolumeClaim a/data dying [kubernetes.io/pvc-protection]",
			want:     []string{"the protection of claims in use of kube-controller-manager has to take it off"},
		},
		"C53 who set the finalizer": {
			scenario: "Widget a/w dying [acme.example/hold]",
			facts: func(f *facts) {
				f.details[0] = detail{managers: map[string][]string{"acme.example/hold": {"m1", "m2"}}}
			},
			want: []string{"finalizer acme.example/hold (set by m1, m2)"},
		},
		"a component that lost its lease": {
			scenario: "Widget a/w dying [batch.kubernetes.io/job-tracking]",
			facts:    func(f *facts) { f.leases[0].renewed = noon.Add(-time.Minute) },
			want:     []string{"Lease kube-system/kube-controller-manager not renewed for 1m0s, so it does not run"},
		},
		"a component that cannot be seen": {
			scenario: "Widget a/w dying [external-attacher/csi-example]",
			want:     []string{"the attacher of the volume's driver has to take it off (no lease and no workload of that name shows whether it runs)"},
		},
		"what went meanwhile is not told of": {
			scenario: "Gadget n/g dying [fg]\nWidget n/w -> Gadget g +b",
			facts:    func(f *facts) { f.details[1] = detail{gone: true} },
			never:    "Widget",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := scenario(t, tc.scenario)
			if tc.facts != nil {
				tc.facts(f)
			}
			got := explained(t, f)
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("the explanation lacks %q:\n%s", want, got)
				}
			}
			if tc.never != "" && strings.Contains(got, tc.never) {
				t.Errorf("the explanation speaks of %q:\n%s", tc.never, got)
			}
		})
	}
}

func TestWordsOf(t *testing.T) {
	for finalizer, want := range map[string]string{
		"acme.example/cleanup":          "acme",
		"finalizers.argocd.argoproj.io": "argocd argoproj",
		"operator.cert-manager.io/done": "cert-manager",
		"plain":                         "plain",
		"io.k8s.sigs/x":                 "",
		"helm.toolkit.fluxcd.io/x":      "helm toolkit fluxcd",
	} {
		if got := strings.Join(wordsOf(finalizer, []string{"kubectl-create"}), " "); got != want {
			t.Errorf("%s: %q, want %q", finalizer, got, want)
		}
	}
}

// TestDocument_EmptyLists: a program finds the lists also where there is nothing in them.
func TestDocument_EmptyLists(t *testing.T) {
	f := scenario(t, "ConfigMap a/lives")
	explanation, _ := explainFacts(f, 0)
	text, err := json.Marshal(explanation)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"finalizers":[]`, `"causes":[]`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the document lacks %s: %s", want, text)
		}
	}
}
