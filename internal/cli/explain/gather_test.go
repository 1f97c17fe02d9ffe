package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"labhub.io/teamspace/internal/cli/auditlog"
)

func whole(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestDetailOf(t *testing.T) {
	d := detailOf(whole(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"deletionTimestamp":"2030-05-04T12:00:30Z","deletionGracePeriodSeconds":30,
		"labels":{"a":"b"},"managedFields":[
			{"manager":"m2","fieldsV1":{"f:metadata":{"f:finalizers":{".":{},"v:\"x/one\"":{},"v:\"x/two\"":{}}}}},
			{"manager":"m1","fieldsV1":{"f:metadata":{"f:finalizers":{"v:\"x/one\"":{}}}}},
			{"manager":"m1","operation":"Update"},
			{"manager":"m3","fieldsV1":{"f:spec":{}}}]},
		"spec":{"nodeName":"n"},
		"status":{"conditions":[{"type":"Ready","status":"False"},{"type":"Terminating","status":"True","reason":"R","message":"M"},"odd"]}}`))
	if !d.deleted.Equal(noon.Add(30*time.Second)) || d.grace != 30*time.Second || d.node != "n" || d.labels["a"] != "b" {
		t.Errorf("got %+v", d)
	}
	if !slices.Equal(d.managers["x/one"], []string{"m1", "m2"}) || !slices.Equal(d.managers["x/two"], []string{"m2"}) || len(d.managers) != 2 {
		t.Errorf("managers %v", d.managers)
	}
	if c, ok := d.is("Terminating"); !ok || c.message != "M" {
		t.Errorf("conditions %v", d.conditions)
	}
	if _, ok := d.is("Ready"); ok {
		t.Error("a condition that is false is true")
	}
}

func TestDetailOf_Volume(t *testing.T) {
	for phase, want := range map[string]string{"Bound": "a/data", "Released": ""} {
		d := detailOf(whole(t, `{"apiVersion":"v1","kind":"PersistentVolume","spec":{"claimRef":{"namespace":"a","name":"data"}},"status":{"phase":"`+phase+`"}}`))
		if d.claim != want {
			t.Errorf("%s: %q, want %q", phase, d.claim, want)
		}
	}
}

func TestWorkloadOf(t *testing.T) {
	for name, tc := range map[string]struct {
		text          string
		ready, wanted int32
	}{
		"a Deployment":             {`{"spec":{"replicas":3},"status":{"readyReplicas":2}}`, 2, 3},
		"one without replicas":     {`{"spec":{}}`, 0, 1},
		"one that is scaled down":  {`{"spec":{"replicas":0}}`, 0, 0},
		"a DaemonSet":              {`{"status":{"numberReady":4,"desiredNumberScheduled":5}}`, 4, 5},
		"a DaemonSet without node": {`{"status":{"numberReady":0,"desiredNumberScheduled":0}}`, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := workloadOf(whole(t, tc.text))
			if err != nil || w.ready != tc.ready || w.wanted != tc.wanted {
				t.Errorf("%d of %d (%v), want %d of %d", w.ready, w.wanted, err, tc.ready, tc.wanted)
			}
		})
	}
	w, err := workloadOf(whole(t, `{"metadata":{"namespace":"ns","name":"n","labels":{"app":"label","other":"no"}},"spec":{"template":{"spec":{"containers":[{"name":"c","image":"registry/acme:1"}]}}}}`))
	if err != nil || !w.knownBy([]string{"acme"}) || !w.knownBy([]string{"label"}) || w.knownBy([]string{"no-such"}) {
		t.Errorf("known by %q (%v)", w.words, err)
	}
}

func TestBackends(t *testing.T) {
	b := backends{services: map[string]bool{"n/served": false, "n/dead": false, "n/elsewhere": true}, ready: map[string]bool{"n/served": true}}
	for name, fault := range map[string]string{"served": "", "dead": "no endpoint is ready", "elsewhere": "", "none": "missing"} {
		if got := b.of("n", name); got.fault != fault || got.service != "n/"+name {
			t.Errorf("%s: %+v, want fault %q", name, got, fault)
		}
	}
	b.unread = true
	if got := b.of("n", "none"); got.fault != "" {
		t.Errorf("of Services that could not be read it is said: %+v", got)
	}
}

// TestAddWebhook: only what fails closed and has nobody behind it is kept.
func TestAddWebhook(t *testing.T) {
	ignore, fail := admissionregistrationv1.Ignore, admissionregistrationv1.Fail
	url := "https://elsewhere"
	service := func(name string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "n", Name: name}}
	}
	b := backends{services: map[string]bool{"n/served": false}, ready: map[string]bool{"n/served": true}}
	for name, tc := range map[string]struct {
		config admissionregistrationv1.WebhookClientConfig
		policy *admissionregistrationv1.FailurePolicyType
		kept   bool
	}{
		"nobody behind it":                      {service("gone"), &fail, true},
		"nobody behind it, the default is Fail": {service("gone"), nil, true},
		"it fails open":                         {service("gone"), &ignore, false},
		"somebody behind it":                    {service("served"), &fail, false},
		"a URL, which nobody here can ask":      {admissionregistrationv1.WebhookClientConfig{URL: &url}, &fail, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &facts{}
			selector := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
			err := f.addWebhook(whole(t, `{"kind":"K","metadata":{"name":"c"}}`), b, &admissionregistrationv1.ValidatingWebhook{
				Name: "w", ClientConfig: tc.config, FailurePolicy: tc.policy, NamespaceSelector: selector,
			})
			if err != nil || (len(f.webhooks) == 1) != tc.kept {
				t.Fatalf("%d webhooks, %v", len(f.webhooks), err)
			}
			if tc.kept && (f.webhooks[0].selectsNamespace(nil) || !f.webhooks[0].selectsNamespace(map[string]string{"team": "a"}) || !f.webhooks[0].selects(nil)) {
				t.Error("the selectors are mixed up")
			}
		})
	}
}

func TestSentences(t *testing.T) {
	written := auditlog.Request{Time: noon.Add(-time.Hour), User: "operator"}
	reference := auditlog.Reference{OwnerReference: metav1.OwnerReference{APIVersion: "acme.example/v1", Kind: "Widget", Name: "w", UID: "u1"}, Written: &written}
	collected := func(refs ...auditlog.Reference) auditlog.Deletion {
		return auditlog.Deletion{Request: auditlog.Request{Time: noon, User: "gc"}, Verb: "delete", Collector: true, Known: true, References: refs}
	}
	found := func(look auditlog.Look) auditlog.Deletion {
		r := reference
		r.Look = &look
		return collected(r)
	}
	looked := func(code int, uid string) auditlog.Deletion {
		return found(auditlog.Look{Time: noon, Namespace: "a", Code: code, UID: uid})
	}
	for name, tc := range map[string]struct {
		deletion auditlog.Deletion
		want     []string
	}{
		"a person": {
			auditlog.Deletion{Request: auditlog.Request{Time: noon, User: "jane"}, Verb: "delete", Policy: metav1.DeletePropagationForeground},
			[]string{"ConfigMap a/c was deleted at 2030-05-04T12:00:00Z by jane with propagationPolicy Foreground"},
		},
		"the reference, and who wrote it": {collected(reference), []string{
			"by the garbage collector (gc)", `because of metadata.ownerReferences[0], which named Widget "w" (acme.example/v1) with uid u1; written at 2030-05-04T11:00:00Z by operator`,
		}},
		"not found":    {looked(404, ""), []string{"looked for that owner in namespace a and found none of that name"}},
		"another one":  {looked(200, "u2"), []string{"and found another one, with uid u2"}},
		"waiting":      {found(auditlog.Look{Time: noon, Code: 200, UID: "u1", Deleting: true, Waiting: true}), []string{"found it waiting for its dependents"}},
		"going":        {found(auditlog.Look{Time: noon, Code: 200, UID: "u1", Deleting: true}), []string{"found it being deleted"}},
		"there":        {looked(200, "u1"), []string{"found it, not being deleted yet"}},
		"no look":      {collected(reference), []string{"the log holds neither a deletion of that owner nor a look"}},
		"no body":      {looked(200, ""), []string{"found one of that name; unless it was waiting for its dependents, it had another uid"}},
		"not answered": {looked(503, ""), []string{"and was answered 503"}},
		"no references in the log": {collected(), []string{
			"the log shows no owner reference of it",
		}},
		"its namespace went": {
			auditlog.Deletion{Request: auditlog.Request{Time: noon, User: "nsc"}, Verb: "deletecollection", Namespace: &auditlog.Deletion{Request: auditlog.Request{Time: noon, User: "jane"}, Verb: "delete"}},
			[]string{"with all others of its type there at once", "its namespace was being deleted", "the namespace was deleted at 2030-05-04T12:00:00Z by jane"},
		},
		"it may not have been there": {
			auditlog.Deletion{Request: auditlog.Request{Time: noon, User: "jane"}, Verb: "deletecollection", Presumed: true},
			[]string{"if ConfigMap a/c was there then, it went at 2030-05-04T12:00:00Z with all others of its type there: jane deleted them"},
		},
		"nor may it have been chosen": {
			auditlog.Deletion{Request: auditlog.Request{Time: noon, User: "jane"}, Verb: "deletecollection", Presumed: true, Selective: true},
			[]string{"if ConfigMap a/c was there then and was chosen, it went", "with those of its type there that a selector chose"},
		},
		"a log without bodies": {
			auditlog.Deletion{Request: auditlog.Request{Time: noon}, Collector: true, Looks: []auditlog.Look{{Resource: "widgets", Group: "acme.example", Namespace: "a", Name: "w", Code: 404}}},
			[]string{"the log does not hold its references", "looked for widgets.acme.example a/w (answered 404)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(sentences("ConfigMap a/c", &tc.deletion), "\n")
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in\n%s", want, got)
				}
			}
		})
	}
}

func TestNeedsSecondLook(t *testing.T) {
	for text, want := range map[string]bool{
		"Widget a/w dying [fg]":                                           true,
		"Widget a/w dying [acme.example/hold]":                            false,
		"Widget a/w dying [fg]\nConfigMap a/c dying [x/y] -> Widget w +b": false,
		"Namespace n dying\nWidget n/w dying [fg]":                        true,
		"Widget a/w": false,
		"Widget a/x dying [fg]\nGadget a/y dying [fg] -> Widget x +b":           true,
		"Widget a/x dying [fg] -> Widget x +b":                                  false,
		"Widget a/w dying [orphan]\nConfigMap a/c -> Widget w":                  false,
		"Namespace n dying\nWidget n/w dying [acme.example/hold]\nSecret n/s":   false,
		"Widget a/w dying [fg]\nClusterRole r -> Widget w =Widget/a/w +b":       false,
		"Widget a/w dying [fg]\nConfigMap a/c dying [x/y] -> Widget w":          true,
		"Widget a/w dying [acme.example/hold fg]\nConfigMap a/c -> Widget w -b": true,
	} {
		explanation, _ := explainFacts(scenario(t, text), 0)
		if got := needsSecondLook(explanation); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}
