package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

func judged(classes ...rules.Class) []rules.Judged {
	var list []rules.Judged
	for i, c := range classes {
		list = append(list, rules.Judged{
			UID:            types.UID(fmt.Sprint(i)),
			Classification: rules.Classification{Class: c, Possible: rules.Classes(c)},
		})
	}
	return list
}

func TestDecide(t *testing.T) {
	const fg, orphan = metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents
	twins := judged(rules.Absent, rules.Solid)
	twins[1].UID = twins[0].UID
	for _, tc := range []struct {
		name    string
		subject rules.Subject
		want    rules.Decision
	}{
		{"R01 no references", rules.Subject{}, rules.Decision{Action: rules.Keep, Rule: rules.R01, Because: "no owner"}},
		{"R02 comes first", rules.Subject{Unmonitored: true, Deleting: true, References: judged(rules.Absent)},
			rules.Decision{Action: rules.Unmanaged, Rule: rules.R02, Because: "1 absent owner"}},
		{"R03 terminating objects are skipped", rules.Subject{Deleting: true, References: judged(rules.Absent)},
			rules.Decision{Action: rules.SkipTerminating, Rule: rules.R03, Because: "1 absent owner"}},
		{"R04 released when nothing blocks", rules.Subject{Deleting: true, Finalizers: []string{fg}},
			rules.Decision{Action: rules.FinishForeground, Rule: rules.R04, Release: true, Because: "0 blockingDependents"}},
		{"R04 waits for what blocks", rules.Subject{Deleting: true, Finalizers: []string{fg}, Dependents: 3, Blocking: 2},
			rules.Decision{Action: rules.FinishForeground, Rule: rules.R04, Because: "2 blockingDependents"}},
		{"R05 bad scope", rules.Subject{References: judged(rules.Absent, rules.BadScope)},
			rules.Decision{Action: rules.NeverCollected, Rule: rules.R05, Because: "a reference is bad scope"}},
		{"R06 unresolvable", rules.Subject{References: judged(rules.Unresolvable, rules.BadScope)},
			rules.Decision{Action: rules.Retry, Rule: rules.R06, Because: "a reference is unresolvable"}},
		{"R06 unknown", rules.Subject{References: judged(rules.Absent, rules.Unknown)},
			rules.Decision{Action: rules.Retry, Rule: rules.R06, Because: "a reference is unknown"}},
		{"R07 only solid", rules.Subject{References: judged(rules.Solid, rules.Solid)},
			rules.Decision{Action: rules.Keep, Rule: rules.R07, Because: "2 solid"}},
		{"R08 prunes absent and waiting", rules.Subject{References: judged(rules.Absent, rules.Solid, rules.Waiting)},
			rules.Decision{Action: rules.Prune, Rule: rules.R08, Prune: []types.UID{"0", "2"}, Because: "1 solid, 1 absent owner, 1 waitingForDependentsDeletion"}},
		{"R09 has dependents", rules.Subject{References: judged(rules.Waiting), Dependents: 1, Finalizers: []string{orphan}},
			rules.Decision{Action: rules.Delete, Rule: rules.R09, Policy: metav1.DeletePropagationForeground, Because: "1 waitingForDependentsDeletion"}},
		{"R09 a dependent waits", rules.Subject{References: judged(rules.Waiting), Dependents: 1, WaitingDependents: 1},
			rules.Decision{Action: rules.Delete, Rule: rules.R09, Policy: metav1.DeletePropagationForeground, Unblock: true, Because: "1 waitingForDependentsDeletion"}},
		{"R10 no dependents", rules.Subject{References: judged(rules.Absent, rules.Waiting)},
			rules.Decision{Action: rules.Delete, Rule: rules.R10, Policy: metav1.DeletePropagationBackground, Because: "1 absent owner, 1 waitingForDependentsDeletion"}},
		{"R11 only absent", rules.Subject{References: judged(rules.Absent), Dependents: 5},
			rules.Decision{Action: rules.Delete, Rule: rules.R11, Policy: metav1.DeletePropagationBackground, Because: "1 absent owner"}},
		{"R12 orphan", rules.Subject{References: judged(rules.Absent), Finalizers: []string{"x", orphan}},
			rules.Decision{Action: rules.Delete, Rule: rules.R11, Policy: metav1.DeletePropagationOrphan, Because: "1 absent owner"}},
		{"R12 foreground", rules.Subject{References: judged(rules.Waiting), Finalizers: []string{fg}},
			rules.Decision{Action: rules.Delete, Rule: rules.R10, Policy: metav1.DeletePropagationForeground, Because: "1 waitingForDependentsDeletion"}},
		{"R16 one uid, right and wrong", rules.Subject{References: twins},
			rules.Decision{Action: rules.Prune, Rule: rules.R08, Prune: []types.UID{"0"}, Because: "1 solid, 1 absent owner"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := rules.Decide(tc.subject); fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
		})
	}
}

// sevenClasses are the ways in which a reference can be right or wrong.
var sevenClasses = []struct {
	name  string
	class rules.Class
}{
	{"solid", rules.Solid},
	{"absent-404", rules.Absent}, {"absent-uid", rules.Absent}, {"absent-namespace", rules.Absent},
	{"waiting", rules.Waiting}, {"unresolvable", rules.Unresolvable}, {"bad-scope", rules.BadScope},
}

// combinations calls f with every list of one to three of n things.
func combinations(n int, f func([]int)) {
	for a := range n {
		f([]int{a})
		for b := range n {
			f([]int{a, b})
			for c := range n {
				f([]int{a, b, c})
			}
		}
	}
}

// table is section 1.2 of the rule book, row by row as it is printed.
func table(names []string) (rules.Action, rules.Rule) {
	has := func(prefix string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, prefix) })
	}
	for _, n := range names {
		if n == "bad-scope" {
			return rules.NeverCollected, rules.R05
		}
		if n == "unresolvable" {
			return rules.Retry, rules.R06
		}
	}
	switch {
	case has("solid") && !has("absent") && !has("waiting"):
		return rules.Keep, rules.R07
	case has("solid"):
		return rules.Prune, rules.R08
	case has("waiting"):
		return rules.Delete, rules.R10
	default:
		return rules.Delete, rules.R11
	}
}

// TestDecide_399 decides every combination of one to three references.
func TestDecide_399(t *testing.T) {
	count := 0
	combinations(len(sevenClasses), func(pick []int) {
		count++
		var names []string
		var classes []rules.Class
		for _, i := range pick {
			names, classes = append(names, sevenClasses[i].name), append(classes, sevenClasses[i].class)
		}
		wantAction, wantRule := table(names)
		got := rules.Decide(rules.Subject{References: judged(classes...)})
		if got.Action != wantAction || got.Rule != wantRule {
			t.Errorf("%v: %v by %s, want %v by %s", names, got.Action, got.Rule, wantAction, wantRule)
		}
		var wantPrune []types.UID
		for i, c := range classes {
			if got.Action == rules.Prune && c != rules.Solid {
				wantPrune = append(wantPrune, types.UID(fmt.Sprint(i)))
			}
		}
		if !slices.Equal(got.Prune, wantPrune) {
			t.Errorf("%v: prunes %v, want %v", names, got.Prune, wantPrune)
		}
	})
	if count != 399 {
		t.Errorf("%d combinations", count)
	}
}

// TestPredict_399 predicts every combination for a new object. A cluster-scoped
// dependent, which bad scope needs, sees bad scope where a namespaced one sees a
// foreign namespace.
func TestPredict_399(t *testing.T) {
	count := 0
	combinations(len(sevenClasses), func(pick []int) {
		count++
		var names []string
		for _, i := range pick {
			names = append(names, sevenClasses[i].name)
		}
		namespace := "a"
		if slices.Contains(names, "bad-scope") {
			namespace = ""
			for i, n := range names {
				names[i] = strings.Replace(n, "absent-namespace", "bad-scope", 1)
			}
		}
		id, p := predictNew(t, namespace, names)
		checkNew(t, names, p, id)
	})
	if count != 399 {
		t.Errorf("%d combinations", count)
	}
}

// checkNew compares a prediction with the table, and with K7-late: a new object
// with solid and waiting owners alone is not looked at.
func checkNew(t *testing.T, names []string, p *rules.Prediction, id graph.ID) {
	t.Helper()
	action, _ := table(names)
	honest := !slices.ContainsFunc(names, func(n string) bool { return n != "solid" && n != "waiting" })
	latent := honest && slices.Contains(names, "waiting")
	got, wantOwners := p.Likely(id), len(names)
	if action == rules.Prune && !latent {
		wantOwners = strings.Count(strings.Join(names, " "), "solid")
	}
	if wantExists := action != rules.Delete || latent; got.Exists != wantExists || got.Deleting {
		t.Errorf("%v: exists %v, want %v", names, got.Exists, wantExists)
	}
	if got.Exists && len(got.Owners) != wantOwners {
		t.Errorf("%v: %d owners, want %d", names, len(got.Owners), wantOwners)
	}
	if slices.Contains(p.Latent(), id) != latent {
		t.Errorf("%v: latent %v, want %v", names, !latent, latent)
	}
	if !p.Outcome(id).Deterministic() {
		t.Errorf("%v: open: %v", names, p.Outcome(id))
	}
}

// predictNew makes an object with references of the named kinds and predicts
// what becomes of it.
func predictNew(t *testing.T, namespace string, names []string) (graph.ID, *rules.Prediction) {
	t.Helper()
	const acme = "acme.example/v1"
	ownerKind, dependentKind := "Widget", "ConfigMap"
	if namespace == "" {
		ownerKind, dependentKind = "ClusterWidget", "ClusterRole"
	}
	b := graph.NewBuilder(graph.NewTypes(
		graph.Type{APIVersion: acme, Kind: "Widget", Namespaced: true, Serving: graph.Served},
		graph.Type{APIVersion: acme, Kind: "ClusterWidget", Serving: graph.Served},
		graph.Type{APIVersion: "v1", Kind: "ConfigMap", Namespaced: true, Serving: graph.Served},
		graph.Type{APIVersion: "v1", Kind: "ClusterRole", Serving: graph.Served},
	))
	dependent := graph.Object{APIVersion: "v1", Kind: dependentKind, Namespace: namespace, Name: "c", UID: "c"}
	block := true
	for i, name := range names {
		o := graph.Object{APIVersion: acme, Kind: ownerKind, Namespace: namespace, Name: fmt.Sprint("o", i), UID: types.UID(fmt.Sprint("o", i))}
		ref := metav1.OwnerReference{APIVersion: acme, Kind: ownerKind, Name: o.Name, UID: o.UID}
		switch name {
		case "absent-404":
			ref.Name, ref.UID = "ghost", types.UID(fmt.Sprint("ghost", i))
		case "absent-uid":
			ref.UID = types.UID(fmt.Sprint("old", i))
		case "absent-namespace":
			o.Namespace = "elsewhere"
		case "waiting":
			o.Deleting, o.Finalizers = true, []string{fgFinalizer}
			blocker := graph.Object{APIVersion: "v1", Kind: dependentKind, Namespace: namespace, Name: fmt.Sprint("b", i),
				UID: types.UID(fmt.Sprint("b", i)), Deleting: true, Finalizers: []string{"hold"}}
			blocking := ref
			blocking.BlockOwnerDeletion = &block
			blocker.Owners = append(blocker.Owners, blocking)
			add(t, b, blocker)
		case "unresolvable":
			ref.APIVersion = "acme.example/v9"
			o.UID = types.UID(fmt.Sprint("other", i))
		case "bad-scope":
			ref.Kind, o.Kind, o.Namespace = "Widget", "Widget", "a"
		}
		add(t, b, o)
		dependent.Owners = append(dependent.Owners, ref)
	}
	add(t, b, dependent)
	g := b.Graph()
	id, _ := g.Find("c")
	return id, rules.Predict(g, rules.Created(id))
}

func add(t *testing.T, b *graph.Builder, o graph.Object) {
	t.Helper()
	if err := b.Add(o); err != nil {
		t.Fatal(err)
	}
}

func TestAction_String(t *testing.T) {
	if got := fmt.Sprint(rules.Keep, rules.Unmanaged, rules.Removed, rules.Unblocked, rules.Live|rules.Gone); got != "keep unmanaged removed unblocked live or gone" {
		t.Error(got)
	}
}
