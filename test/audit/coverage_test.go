package audit

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/test/world"
)

// allow lets a user do something with resources, in a namespace or everywhere.
func allow(t *testing.T, w *world.World, user, namespace string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
	meta := metav1.ObjectMeta{Name: user, Namespace: namespace}
	if namespace == "" {
		createObject(t, w, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules})
		createObject(t, w, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user}})
		return
	}
	createObject(t, w, &rbacv1.Role{ObjectMeta: meta, Rules: rules})
	createObject(t, w, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user}})
}

func rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// TestPermission: who may list some types learns of those, and that the others were not
// looked at; what could not be read is never clean.
func TestPermission(t *testing.T) {
	w := lab.World(t)
	c := newCast(t, w, "permission")
	create(t, w, "v1", "Secret", c.ns, "wrong", ref(c.here, uid(nobody)))
	create(t, w, "v1", "Secret", c.ns, "valid", ref(c.here))
	create(t, w, "v1", "ConfigMap", c.ns, "unseen", ref(c.here, uid(nobody)))
	both := []string{"get", "list"}
	for name, tc := range map[string]struct {
		namespace string
		rules     []rbacv1.PolicyRule
		args      []string
	}{
		"get-and-list":  {"", []rbacv1.PolicyRule{rule("", both, "secrets"), rule("acme.example", both, "widgets")}, []string{"-A"}},
		"list-only":     {"", []rbacv1.PolicyRule{rule("", []string{"list"}, "secrets"), rule("acme.example", []string{"list"}, "widgets")}, []string{"-A"}},
		"one-namespace": {c.ns, []rbacv1.PolicyRule{rule("", both, "secrets"), rule("acme.example", both, "widgets")}, []string{"-n", c.ns}},
	} {
		t.Run(name, func(t *testing.T) {
			allow(t, w, name, tc.namespace, tc.rules...)
			world.Eventually(t, world.Patience, "the permission is in effect", func() error {
				if answer := w.Kubectl(t, "auth", "can-i", "list", "widgets.acme.example", "-n", c.ns, "--as="+name); answer.Code != 0 {
					return fmt.Errorf("not yet: %s", answer.Out)
				}
				return nil
			})
			got := audit(t, w, 2, append(tc.args, "--as="+name)...)
			wantFinding(t, got, "Secret", "wrong", "R11", string(c.here.GetUID()))
			if found := got.of("Secret", "valid"); found != nil {
				t.Errorf("a valid object has %s", describe(found))
			}
			if !strings.Contains(got.gap("configmaps"), "forbidden") {
				t.Errorf("the ConfigMaps are no gap: %+v", got.Incomplete)
			}
			told := w.Plugin(t, append([]string{"audit", "-o", "json", "--as=" + name}, tc.args...)...).Err
			if want := fmt.Sprintf(" others, %d in all, could not be read", len(got.Incomplete)); !strings.Contains(told, want) || strings.Count(told, "\n") != 1 {
				t.Errorf("the standard error does not say %q: %s", want, told)
			}
			if got.gap("secrets") != "" || got.gap("widgets.acme.example") != "" {
				t.Errorf("what was read is a gap: %+v", got.Incomplete)
			}
		})
	}
}

// TestNoNamespace: a name that is none's is told, since nothing is wrong there.
func TestNoNamespace(t *testing.T) {
	w := lab.World(t)
	for _, command := range []string{"audit", "stuck"} {
		if got := w.Plugin(t, command, "-n", "nobody-s"); got.Code != 0 || got.Err != "note: namespace nobody-s does not exist\n" {
			t.Errorf("%s: %+v", command, got)
		}
	}
}

// TestPermission_Owners: owners that may not be read are a gap, and no finding.
func TestPermission_Owners(t *testing.T) {
	w := lab.World(t)
	c := newCast(t, w, "owners")
	create(t, w, "v1", "Secret", c.ns, "valid", ref(c.here))
	allow(t, w, "blind", "", rule("", []string{"get", "list"}, "*"))
	world.Eventually(t, world.Patience, "the permission is in effect", func() error {
		got := w.Plugin(t, "audit", "-n", c.ns, "--as=blind", "-o", "json")
		if got.Code != 2 {
			return fmt.Errorf("exit code %d: %s", got.Code, got.Out)
		}
		r := parse(t, got.Out)
		if found := r.of("Secret", "valid"); found != nil || r.gap("widgets.acme.example") == "" {
			return fmt.Errorf("found %s, gaps %+v", describe(found), r.Incomplete)
		}
		return nil
	})
}

// TestBrokenServer: a group whose server is away is a gap of its own, and the rest is read.
func TestBrokenServer(t *testing.T) {
	w := lab.World(t)
	c := newCast(t, w, "broken")
	create(t, w, "v1", "Secret", c.ns, "wrong", ref(c.here, uid(nobody)))
	service := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": "broken.acme.example", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
		"insecureSkipTLSVerify": true, "service": map[string]any{"namespace": c.ns, "name": "missing"},
	}}}
	service.SetAPIVersion("apiregistration.k8s.io/v1")
	service.SetKind("APIService")
	service.SetName("v1beta1.broken.acme.example")
	createObject(t, w, service)
	world.Eventually(t, world.Patience, "the group is a gap", func() error {
		report := w.Plugin(t, "audit", "-o", "json")
		got := parse(t, report.Out)
		if report.Code != 2 || got.gap("v1beta1.broken.acme.example") == "" {
			return fmt.Errorf("exit code %d, gaps %+v", report.Code, got.Incomplete)
		}
		wantFinding(t, got, "Secret", "wrong", "R11")
		return nil
	})
}

// TestBrokenConversion is C49: objects that cannot be converted cannot be read, and their
// type is a gap; their dependents are not called wrong.
func TestBrokenConversion(t *testing.T) {
	w := lab.World(t)
	c := newCast(t, w, "conversion")
	version := func(name string, storage bool) map[string]any {
		return map[string]any{"name": name, "served": true, "storage": storage, "schema": map[string]any{"openAPIV3Schema": map[string]any{
			"type": "object", "x-kubernetes-preserve-unknown-fields": true,
		}}}
	}
	definition := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": "own.example", "scope": "Namespaced", "names": map[string]any{"kind": "Broken", "plural": "brokens"},
		"versions": []any{version("v1beta1", true), version("v1", false)},
		"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{
			"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"service": map[string]any{"namespace": c.ns, "name": "missing"}},
		}},
	}}}
	definition.SetAPIVersion("apiextensions.k8s.io/v1")
	definition.SetKind("CustomResourceDefinition")
	definition.SetName("brokens.own.example")
	createObject(t, w, definition)
	broken := create(t, w, "own.example/v1beta1", "Broken", c.ns, "b")
	create(t, w, "v1", "Secret", c.ns, "dependent", ref(broken))
	create(t, w, "v1", "Secret", c.ns, "wrong", ref(c.here, uid(nobody)))
	got := audit(t, w, 2)
	for _, format := range []string{"-o=text", "-o=json"} {
		if told := w.Plugin(t, "audit", format).Err; !strings.HasPrefix(told, "note: brokens.own.example could not be read, and may hold more: ") {
			t.Errorf("the standard error of %s: %s", format, told)
		}
	}
	if !strings.Contains(got.gap("brokens.own.example"), "conversion webhook") {
		t.Errorf("gaps %+v", got.Incomplete)
	}
	wantFinding(t, got, "Secret", "wrong", "R11")
	if found := got.of("Secret", "dependent"); found != nil {
		t.Errorf("a valid object has %s", describe(found))
	}
}

// TestUnreachable: no cluster, no verdict.
func TestUnreachable(t *testing.T) {
	w := lab.World(t)
	report := w.Plugin(t, "audit", "--server=https://127.0.0.1:1")
	if report.Code != 2 || report.Out != "" || !strings.Contains(report.Err, "error: ") {
		t.Errorf("got %+v", report)
	}
}

// TestPages is C30: a type of more than one page is read to its end.
func TestPages(t *testing.T) {
	w := lab.World(t)
	ns := namespace(t, w, "pages")
	const many = 5100 // and the last of them is the one that is wrong
	var group errgroup.Group
	group.SetLimit(16)
	for i := range many {
		group.Go(func() error {
			o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("c-%05d", i)}}
			if i == many-1 {
				o.OwnerReferences = []metav1.OwnerReference{{APIVersion: acme, Kind: "Widget", Name: "ghost", UID: nobody}}
			}
			return w.Client.Create(t.Context(), o)
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Client.DeleteAllOf(context.WithoutCancel(t.Context()), &corev1.ConfigMap{}, client.InNamespace(ns)); err != nil {
			t.Error(err)
		}
	})
	got := audit(t, w, 1, "-n", ns)
	if len(got.Findings) != 1 || got.Findings[0].Object.Name != fmt.Sprintf("c-%05d", many-1) {
		t.Errorf("found %+v", got.Findings)
	}
}

// TestBuiltInTypes: what is said of the built-in types without a cluster is true of one.
func TestBuiltInTypes(t *testing.T) {
	w := lab.World(t)
	asks, err := discovery.NewDiscoveryClientForConfig(w.Admin)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := asks.ServerGroupsAndResourcesWithContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	known := graph.NewTypes(inventory.BuiltInTypes()...)
	compared := 0
	for _, list := range lists {
		for i := range list.APIResources {
			r := &list.APIResources[i]
			mapping := known.Resolve(list.GroupVersion, r.Kind)
			if strings.Contains(r.Name, "/") || !mapping.Resolves() {
				continue
			}
			compared++
			if mapping.Type.Namespaced != r.Namespaced {
				t.Errorf("%s %s: namespaced %v", list.GroupVersion, r.Kind, r.Namespaced)
			}
		}
	}
	if compared < 50 {
		t.Errorf("only %d types were compared", compared)
	}
}
