package rules_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

func served(namespaced bool) graph.Mapping {
	return graph.Mapping{Type: graph.Type{APIVersion: "acme.example/v1", Kind: "Widget", Namespaced: namespaced, Serving: graph.Served}}
}

func serving(s graph.Serving) graph.Mapping {
	m := served(true)
	m.Type.Serving = s
	return m
}

func TestClassify(t *testing.T) {
	list, sealed := served(true), served(true)
	list.NoResource = true
	sealed.Type.Unreadable = true
	found := rules.Facts{Mapping: served(true), Answer: rules.Found, UID: "u"}
	with := func(edit func(*rules.Facts)) rules.Facts { f := found; edit(&f); return f }
	for _, tc := range []struct {
		name      string
		namespace string
		facts     rules.Facts
		wantClass rules.Class
		wantRule  rules.Rule
		wantDoubt rules.Rule
		wantAlso  rules.Class
	}{
		{"K1 cached coordinates are absent though the owner is there", "a", with(func(f *rules.Facts) { f.Cached = true }), rules.Absent, rules.K1, "", 0},
		{"K1 comes before K2", "a", rules.Facts{Cached: true}, rules.Absent, rules.K1, "", 0},
		{"K2 nothing of that name is known", "a", rules.Facts{Answer: rules.Found, UID: "u"}, rules.Unresolvable, rules.K2, "", 0},
		{"K2 comes before K3", "", rules.Facts{}, rules.Unresolvable, rules.K2, "", 0},
		{"K3 cluster-scoped dependent of a namespaced kind", "", found, rules.BadScope, rules.K3, "", 0},
		{"K3 comes before K4", "", rules.Facts{Mapping: served(true), Answer: rules.NotFound}, rules.BadScope, rules.K3, "", 0},
		{"K3 does not concern cluster-scoped kinds", "", with(func(f *rules.Facts) { f.Mapping = served(false) }), rules.Solid, rules.K8, "", 0},
		{"K4 not found", "a", rules.Facts{Mapping: served(true), Answer: rules.NotFound}, rules.Absent, rules.K4, "", 0},
		{"K4 a list kind is never found", "a", with(func(f *rules.Facts) { f.Mapping = list }), rules.Absent, rules.K4, "", 0},
		{"K5 the look-up failed or was not made", "a", rules.Facts{Mapping: served(true)}, rules.Unknown, rules.K5, "", 0},
		{"K5 the type cannot be read", "a", with(func(f *rules.Facts) { f.Mapping = sealed }), rules.Unknown, rules.K5, "", 0},
		{"K6 another uid", "a", with(func(f *rules.Facts) { f.UID = "v" }), rules.Absent, rules.K6, "", 0},
		{"K6 comes before K7", "a", with(func(f *rules.Facts) {
			f.UID, f.Deleting, f.Finalizers = "v", true, []string{metav1.FinalizerDeleteDependents}
		}), rules.Absent, rules.K6, "", 0},
		{"K7 the owner waits for its dependents", "a", with(func(f *rules.Facts) {
			f.Deleting, f.Finalizers = true, []string{"acme.example/hold", metav1.FinalizerDeleteDependents}
		}), rules.Waiting, rules.K7, "", 0},
		{"K8 the owner lives", "a", found, rules.Solid, rules.K8, "", 0},
		{"K8 foregroundDeletion without a deletionTimestamp", "a", with(func(f *rules.Facts) {
			f.Finalizers = []string{metav1.FinalizerDeleteDependents}
		}), rules.Solid, rules.K8, "", 0},
		{"K8 the owner terminates with orphan", "a", with(func(f *rules.Facts) {
			f.Deleting, f.Finalizers = true, []string{metav1.FinalizerOrphanDependents}
		}), rules.Solid, rules.K8, "", 0},
		{"D1 vanished recently: perhaps absent", "a", with(func(f *rules.Facts) { f.Mapping = serving(graph.VanishedRecently) }), rules.Unresolvable, rules.K2, rules.D1, rules.Absent},
		{"D1 vanished recently, cluster-scoped: perhaps of bad scope", "", with(func(f *rules.Facts) { f.Mapping = serving(graph.VanishedRecently) }), rules.Unresolvable, rules.K2, rules.D1, rules.BadScope},
		{"R14 vanished earlier: perhaps cached", "a", with(func(f *rules.Facts) { f.Mapping = serving(graph.VanishedEarlier) }), rules.Unresolvable, rules.K2, rules.R14, rules.Absent},
		{"D2 served again: perhaps cached", "a", with(func(f *rules.Facts) { f.Mapping = serving(graph.ServedAgain) }), rules.Solid, rules.K8, rules.D2, rules.Absent},
		{"D2 served again and absent anyway", "a", rules.Facts{Mapping: serving(graph.ServedAgain), Answer: rules.NotFound}, rules.Absent, rules.K4, "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := rules.Classify(tc.namespace, metav1.OwnerReference{UID: "u"}, tc.facts)
			if got.Class != tc.wantClass || got.Rule != tc.wantRule || got.Doubt != tc.wantDoubt {
				t.Errorf("got %v by %s, doubt %q; want %v by %s, doubt %q", got.Class, got.Rule, got.Doubt, tc.wantClass, tc.wantRule, tc.wantDoubt)
			}
			if want := rules.Classes(tc.wantClass | tc.wantAlso); got.Possible != want {
				t.Errorf("possible are %v, want %v", got.Possible.List(), want.List())
			}
			if got.Deterministic() != (tc.wantAlso == 0) {
				t.Errorf("deterministic: %v", got.Deterministic())
			}
		})
	}
}

func TestClass_String(t *testing.T) {
	want := map[rules.Class]string{
		rules.Solid: "solid", rules.Absent: "absent", rules.Waiting: "waiting", rules.Unresolvable: "unresolvable",
		rules.BadScope: "bad scope", rules.Unknown: "unknown", 0: "unclassified",
	}
	for class, word := range want {
		if class.String() != word {
			t.Errorf("class %d is called %q, want %q", class, class, word)
		}
	}
}

func TestClasses_List(t *testing.T) {
	set := rules.Classes(rules.Absent | rules.BadScope)
	if got := set.List(); len(got) != 2 || got[0] != rules.Absent || got[1] != rules.BadScope || set.Has(rules.Solid) {
		t.Errorf("got %v", got)
	}
}

func TestImpossibleKind(t *testing.T) {
	for kind, want := range map[string]bool{
		"Widget": false, "widget": false, "V2-Thing": false, "": true, "*v1.Widget": true,
		"acme.example/v1, Kind=Widget": true, "2Widget": true, "Widget-": true, "Wïdget": true,
		"Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": true,
	} {
		if got := rules.ImpossibleKind(kind); got != want {
			t.Errorf("ImpossibleKind(%q) = %v", kind, got)
		}
	}
}

func TestBuiltInGroup(t *testing.T) {
	for apiVersion, want := range map[string]bool{
		"v1": true, "apps/v1": true, "rbac.authorization.k8s.io/v1": true, "acme.example/v1": false,
		"gateway.networking.k8s.io/v1": false, "metrics.k8s.io/v1beta1": false,
	} {
		if got := rules.BuiltInGroup(apiVersion); got != want {
			t.Errorf("BuiltInGroup(%q) = %v", apiVersion, got)
		}
	}
}

func TestImpossibleName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": false, "a.b-c": false, "system:node:x": false, "...": false, ".": true, "..": true, "a/b": true, "../a": true, "%2e": true,
	} {
		if got := rules.ImpossibleName(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}
