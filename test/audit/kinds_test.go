package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"labhub.io/teamspace/test/world"
)

// TestKinds: each way in which a reference can be invalid is found and told from the
// others, and no valid object is flagged; in every format, of a namespace and of the whole
// cluster.
func TestKinds(t *testing.T) {
	w := lab.World(t)
	c := newCast(t, w, "kinds")
	want := map[string][]string{}
	secret := func(name string, found []string, refs ...metav1.OwnerReference) {
		create(t, w, "v1", "Secret", c.ns, name, refs...)
		want[name] = found
	}
	secret("wrong-uid", []string{"error R11"}, ref(c.here, uid(nobody)))
	secret("missing", []string{"error R11"}, ref(c.here, named("ghost"), uid(nobody)))
	secret("other-namespace", []string{"error R13"}, ref(c.there))
	secret("other-namespace-other-name", []string{"error R13"}, ref(c.there, named("x")))
	secret("unresolvable", []string{"warning R06"}, ref(c.here, kind("nowhere.example/v1", "Gizmo"), uid(nobody)))
	secret("group-forgotten", []string{"warning R06"}, ref(c.here, kind("v1", "Widget")))
	secret("wrong-name", []string{"error R15"}, ref(c.here, named("v")))
	secret("wrong-kind", []string{"error R15"}, ref(c.here, kind(acme, "Gadget")))
	secret("wrong-scope-of-kind", []string{"error R15"}, ref(c.here, kind(acme, "ClusterWidget")))
	secret("list-kind", []string{"error R15"}, ref(c.here, kind(acme, "WidgetList")))
	secret("unserved", []string{"warning R06"}, ref(c.here, kind("acme.example/v1alpha1", "Widget")))
	secret("twins", []string{"warning R16"}, ref(c.here), ref(c.here, blocking))
	secret("twins-one-wrong", []string{"error R16"}, ref(c.here), ref(c.here, named("v")))
	secret("pruned", []string{"warning R08"}, ref(c.here), ref(c.here, named("ghost"), uid(nobody)))
	secret("valid", nil, ref(c.here, blocking))
	secret("valid-cluster-scoped", nil, ref(c.global))
	secret("valid-other-version", nil, ref(c.here, kind("acme.example/v1beta1", "Widget")))
	secret("valid-lower-case", nil, ref(c.here, kind(acme, "widget")))
	secret("valid-several", nil, ref(c.here), ref(c.global))
	secret("none", nil)
	create(t, w, "rbac.authorization.k8s.io/v1", "ClusterRole", "", "kinds-scoped", ref(c.here))
	itself := create(t, w, acme, "Widget", c.ns, "itself")
	setOwners(t, w, itself, ref(itself))
	deadly := create(t, w, acme, "Widget", c.ns, "itself-blocking")
	setOwners(t, w, deadly, ref(deadly, blocking))
	one, two := create(t, w, acme, "Gadget", c.ns, "one"), create(t, w, acme, "Gadget", c.ns, "two")
	setOwners(t, w, one, ref(two))
	setOwners(t, w, two, ref(one))
	create(t, w, acme, "Gadget", c.ns, "three", ref(two))

	inside := audit(t, w, 1, "-n", c.ns)
	everywhere := audit(t, w, 1, "-A")
	inYAML := w.MustPlugin(t, 1, "audit", "-n", c.ns, "-o", "yaml")
	asJSON, err := yaml.YAMLToJSON([]byte(inYAML))
	if err != nil {
		t.Fatal(err)
	}
	for form, got := range map[string]report{"-n": inside, "-A": everywhere, "yaml": parse(t, string(asJSON))} {
		for name, found := range want {
			if is := got.of("Secret", name); !slices.Equal(is, found) {
				t.Errorf("%s: %s: %s, want %s", form, name, describe(is), describe(found))
			}
		}
		for name, found := range map[string][]string{"w": nil, "itself": {"info R18"}, "itself-blocking": {"warning F6"}} {
			if is := got.of("Widget", name); !slices.Equal(is, found) {
				t.Errorf("%s: %s: %s, want %s", form, name, describe(is), describe(found))
			}
		}
		for name, found := range map[string][]string{"one": {"info R19"}, "two": {"info R19"}, "three": nil} {
			if is := got.of("Gadget", name); !slices.Equal(is, found) {
				t.Errorf("%s: %s: %s, want %s", form, name, describe(is), describe(found))
			}
		}
	}
	if is := everywhere.of("ClusterRole", "kinds-scoped"); !slices.Equal(is, []string{"error R05"}) {
		t.Errorf("the cluster-scoped dependent: %s", describe(is))
	}
	if is := inside.of("ClusterRole", "kinds-scoped"); is != nil {
		t.Errorf("-n speaks of a cluster-scoped object: %s", describe(is))
	}
	text := w.MustPlugin(t, 1, "audit", "-n", c.ns)
	summary := text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:]
	counted := strings.Count("\n"+text, "\nerror ") + strings.Count("\n"+text, "\nwarning ") + strings.Count("\n"+text, "\ninfo ")
	s := inside.Summary
	wanted := fmt.Sprintf("%d error, %d warning, %d info, 0 incomplete\n", s.Error, s.Warning, s.Info)
	if counted != len(inside.Findings) || summary != wanted {
		t.Errorf("the text tells of %d findings, JSON of %d: %s", counted, len(inside.Findings), summary)
	}
}

// TestFix: what --fix prints can be run as it is, --fix --yes does the same, and then
// nothing is left but what needs a person.
func TestFix(t *testing.T) {
	w := lab.World(t)
	for _, how := range []string{"printed", "applied"} {
		t.Run(how, func(t *testing.T) {
			c := newCast(t, w, "fix-"+how)
			wrong := create(t, w, "v1", "Secret", c.ns, "wrong-uid", ref(c.here, uid(nobody)))
			far := create(t, w, "v1", "Secret", c.ns, "far", ref(c.there))
			several := create(t, w, "v1", "Secret", c.ns, "several",
				ref(c.here, named("ghost"), uid("gone-1")), ref(c.here, blocking), ref(c.here, named("ghost"), uid("gone-2")))
			renamed := create(t, w, "v1", "Secret", c.ns, "renamed", ref(c.here, kind("acme.example/v0", "Widget")))
			if how == "applied" {
				got := parse(t, w.MustPlugin(t, 1, "audit", "-n", c.ns, "--fix", "--yes", "-o", "json"))
				if len(got.Findings) == 0 || got.Summary.Fixed != len(got.Findings) {
					t.Errorf("it does not say what it fixed: %+v", got)
				}
			} else {
				w.MustShell(t, w.MustPlugin(t, 1, "audit", "-n", c.ns, "--fix"))
			}
			for _, tc := range []struct {
				name string
				is   []metav1.OwnerReference
				want []metav1.OwnerReference
			}{
				{"the uid is that of the owner", owners(t, w, wrong), []metav1.OwnerReference{ref(c.here)}},
				{"the reference is dropped", owners(t, w, far), nil},
				{"only the wrong ones are dropped", owners(t, w, several), []metav1.OwnerReference{ref(c.here, blocking)}},
				{"the version is one that is served", owners(t, w, renamed), []metav1.OwnerReference{ref(c.here)}},
			} {
				if diff := cmp.Diff(tc.want, tc.is); diff != "" {
					t.Errorf("%s: %s", tc.name, diff)
				}
			}
			if left := audit(t, w, 0, "-n", c.ns); len(left.Findings) > 0 {
				t.Errorf("left: %+v", left.Findings)
			}
		})
	}
}

// owners are the references of an object as they are now.
func owners(t *testing.T, w *world.World, o *unstructured.Unstructured) []metav1.OwnerReference {
	t.Helper()
	w.Get(t, o)
	return o.GetOwnerReferences()
}
