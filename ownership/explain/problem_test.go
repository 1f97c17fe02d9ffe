package explain_test

import (
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/ownership/rules"
)

// subject reads a graph and collects what is known of one object.
func subject(t *testing.T, text, object string) explain.Subject {
	t.Helper()
	s, err := ownershiptest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	id, ok := s.Find(object)
	if !ok {
		t.Fatalf("no %s in\n%s", object, text)
	}
	return explain.Of(rules.Predict(s.Graph), id)
}

// TestProblems: the cases of the reports, with what the sentence must convey.
func TestProblems(t *testing.T) {
	for _, tc := range []struct {
		name, graph, object string
		wantRule            rules.Rule
		wantClass           rules.Rule
		wantSeverity        explain.Severity
		wantDeny            bool
		wantMessage         string // a regular expression
	}{
		{"C01 C02 R13 owner in another namespace", "Pod a/op\nPod b/check -> Pod op =Pod/a/op", "Pod b/check",
			rules.R13, rules.K4, explain.Error, true, `\[0\]\.name: Invalid value: "op": the Pod with this uid is in namespace "a", .* outside namespace "b"; the garbage collector would delete this Pod within seconds; .*cluster-scoped`},
		{"C03 C05 R05 cluster-scoped dependent", "Widget a/w\nClusterRole r -> Widget w =Widget/a/w", "ClusterRole r",
			rules.R05, rules.K3, explain.Error, true, `kind Widget is namespaced and this ClusterRole is cluster-scoped; .*never delete.*; delete it in a finalizer of the owner, or own it by a cluster-scoped object`},
		{"C21 F5 and it blocks", "Widget a/w\nClusterRole r -> Widget w =Widget/a/w +b", "ClusterRole r",
			rules.R05, rules.K3, explain.Error, true, `a foreground deletion of the owner would never end`},
		{"C15 a CRD holds every object of its kind", "Widget a/w\nCustomResourceDefinition c -> Widget w =Widget/a/w", "CustomResourceDefinition c",
			rules.R05, rules.K3, explain.Error, true, `every object of its kind`},
		{"C06 R11 the owner does not exist", "ConfigMap a/c -> Pod ghost", "ConfigMap a/c",
			rules.R11, rules.K4, explain.Error, true, `Pod "ghost" does not exist in namespace "a".*would delete this ConfigMap`},
		{"C09 R15 right uid, wrong kind", "Widget a/w\nJob a/j -> Gadget w =Widget/a/w", "Job a/j",
			rules.R15, rules.K4, explain.Error, true, `no Gadget "w" in namespace "a" has this uid; .*; the uid is that of acme.example/v1 Widget "w"`},
		{"C11 group forgotten", "Deployment a/d\nSecret a/s -> Deployment:v1 d", "Secret a/s",
			rules.R06, rules.K2, explain.Warning, true, `apiVersion: Invalid value: "v1": v1 has no kind Deployment; .*never delete this Secret.*; did you mean apps/v1 Deployment\?`},
		{"C11 in lower case", "Deployment a/d\nSecret a/s -> deployment:v1 d =Deployment/a/d", "Secret a/s",
			rules.R06, rules.K2, explain.Warning, true, `did you mean apps/v1 Deployment\?`},
		{"C24 version not served", "Widget a/w\nSecret a/s -> Widget:acme.example/v1alpha1 w", "Secret a/s",
			rules.R06, rules.K2, explain.Warning, true, `did you mean acme.example/v1 Widget or acme.example/v1beta1 Widget\?`},
		{"C19 a kind that nobody serves may come", "Secret a/s -> Gizmo:nowhere.example/v1 g", "Secret a/s",
			rules.R06, rules.K2, explain.Warning, false, `nowhere.example/v1 has no kind Gizmo; .*; use an apiVersion that is served`},
		{"P12 a built-in group never gets that kind", "Secret a/s -> Gizmo:apps/v1 g", "Secret a/s",
			rules.R06, rules.K2, explain.Warning, true, `apps/v1 has no kind Gizmo`},
		{"P12 another group has the kind: perhaps", "Secret a/s -> Widget:nowhere.example/v1 g", "Secret a/s",
			rules.R06, rules.K2, explain.Warning, false, `did you mean acme.example/v1 Widget`},
		{"C55 F7 a kind that cannot be", `Secret a/s -> "*v1.Widget:acme.example/v1" w`, "Secret a/s",
			rules.R06, rules.K2, explain.Warning, true, `no type can have the kind "\*v1.Widget"`},
		{"D1 vanished a moment ago", "type acme.example/v0 Lever namespaced vanished-recently\nSecret a/s -> Lever l", "Secret a/s",
			rules.R06, rules.K2, explain.Warning, false, `not served any more; for half a minute.* may delete this Secret`},
		{"D2 served again", "type acme.example/v0 Lever namespaced served-again\nLever a/l\nSecret a/s -> Lever l", "Secret a/s",
			rules.D2, rules.K8, explain.Warning, false, `may still take the owner for absent`},
		{"C18 a restored claim", "StatefulSet a/db =new\nPersistentVolumeClaim a/data -> StatefulSet db =old", "PersistentVolumeClaim a/data",
			rules.R11, rules.K6, explain.Error, true, `\.uid: Invalid value: "old": StatefulSet "db" in namespace "a" has uid "new"; this looks like a restore; the garbage collector would delete this PersistentVolumeClaim, and with it the data of its volume within seconds`},
		{"K6 of a cluster-scoped kind", "ClusterWidget p =new\nConfigMap a/c -> ClusterWidget p =old", "ConfigMap a/c",
			rules.R11, rules.K6, explain.Error, true, `ClusterWidget "p" has uid "new"; .*; use that uid or drop the reference`},
		{"K4 a path for a name", "ConfigMap a/c -> Widget ../../b/widgets/w", "ConfigMap a/c",
			rules.R11, rules.K4, explain.Error, true, `no object can have this name; the garbage collector would delete this ConfigMap, or never delete it; use the name of the owner`},
		{"K2-names a list kind", "Widget a/w\nConfigMap a/c -> WidgetList:acme.example/v1 w =Widget/a/w", "ConfigMap a/c",
			rules.R15, rules.K4, explain.Error, true, `kind WidgetList is a list`},
		{"R08 another owner is solid", "Widget a/w\nConfigMap a/c -> Widget w; Widget ghost", "ConfigMap a/c",
			rules.R08, rules.K4, explain.Warning, true, `\[1\].*would drop the reference within seconds and keep this ConfigMap`},
		{"K5 the owner cannot be read", "type acme.example/v2 Sealed namespaced unreadable\nConfigMap a/c -> Sealed s", "ConfigMap a/c",
			rules.K5, rules.K5, explain.Info, false, `could not be read; if it does not, the garbage collector would delete this ConfigMap`},
		{"K7 P11 the owner goes in the foreground", "Widget a/w dying [fg]\nConfigMap a/c -> Widget w", "ConfigMap a/c",
			rules.K7, rules.K7, explain.Warning, false, `being deleted in the foreground; the garbage collector would delete`},
		{"R18 owns itself", "Widget a/w -> Widget w", "Widget a/w",
			rules.R18, rules.K8, explain.Info, false, `this Widget owns itself; the garbage collector would keep this Widget`},
		{"F6 and blocks itself", "Widget a/w -> Widget w +b", "Widget a/w",
			rules.F6, rules.K8, explain.Warning, false, `a foreground deletion of it would never end`},
		{"C14 duplicate uid", "Widget a/w\nConfigMap a/c -> Widget w; Widget w +b", "ConfigMap a/c",
			rules.R16, rules.K8, explain.Warning, false, `\[1\]\.uid.*duplicate uid, ownerReferences\[0\] has it too`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			problems := explain.Problems(subject(t, tc.graph, tc.object))
			if len(problems) != 1 {
				t.Fatalf("%d problems: %s", len(problems), explain.Join(problems))
			}
			p := problems[0]
			if p.Rule != tc.wantRule || p.Class != tc.wantClass || p.Severity != tc.wantSeverity || p.Deny != tc.wantDeny {
				t.Errorf("got %s, class %s, %s, deny %v", p.Rule, p.Class, p.Severity, p.Deny)
			}
			if !regexp.MustCompile(tc.wantMessage).MatchString(p.Message()) {
				t.Errorf("got  %s\nwant %s", p.Message(), tc.wantMessage)
			}
		})
	}
}

func TestProblems_None(t *testing.T) {
	for name, text := range map[string]string{
		"C12 another served version": "Widget a/w\nConfigMap a/c -> Widget:acme.example/v1beta1 w",
		"C57 cluster-scoped owner":   "ClusterWidget p\nConfigMap a/c -> ClusterWidget p +b +c",
		"K8 the owner terminates":    "Widget a/w dying [hold]\nConfigMap a/c -> Widget w",
		"R01 no references":          "ConfigMap a/c",
	} {
		t.Run(name, func(t *testing.T) {
			if problems := explain.Problems(subject(t, text, "ConfigMap a/c")); len(problems) > 0 {
				t.Error(explain.Join(problems))
			}
		})
	}
}

// TestProblems_Twin is row R16: one of two entries is wrong.
func TestProblems_Twin(t *testing.T) {
	s := subject(t, "Widget a/w\nConfigMap a/c -> Widget w; Widget v =Widget/a/w", "ConfigMap a/c")
	problems := explain.Problems(s)
	if len(problems) != 1 || problems[0].Rule != rules.R16 || !problems[0].Deny || problems[0].Severity != explain.Error {
		t.Fatal(explain.Join(problems))
	}
	if !strings.Contains(problems[0].Message(), "would drop both") {
		t.Error(problems[0].Message())
	}
	// Two wrong entries are two wrong entries.
	s = subject(t, "ConfigMap a/c -> Widget v =x; Widget u =x", "ConfigMap a/c")
	if problems := explain.Problems(s); len(problems) != 2 || problems[1].Rule != rules.R11 {
		t.Error(explain.Join(problems))
	}
}

// TestProblems_Old: what was there before is not complained of, yet counts.
func TestProblems_Old(t *testing.T) {
	s := subject(t, "ConfigMap a/c -> Widget ghost; Widget other", "ConfigMap a/c")
	s.References[0].Old = true
	problems := explain.Problems(s)
	if len(problems) != 1 || problems[0].Index != 1 {
		t.Error(explain.Join(problems))
	}
}

// TestProblems_Latent is row R17.
func TestProblems_Latent(t *testing.T) {
	s := subject(t, "ConfigMap a/c -> Widget ghost", "ConfigMap a/c")
	s.Latent = true
	if got := explain.Join(explain.Problems(s)); !strings.Contains(got, "at the next restart of kube-controller-manager") {
		t.Error(got)
	}
}

// TestProblems_Cycle is row R19: who looks for cycles says so.
func TestProblems_Cycle(t *testing.T) {
	s := subject(t, "Widget a/v\nWidget a/w -> Widget v", "Widget a/w")
	s.References[0].Cycle = true
	if problems := explain.Problems(s); len(problems) != 1 || problems[0].Rule != rules.R19 || problems[0].Deny {
		t.Error(explain.Join(problems))
	}
}

// TestProblems_Reveal is row H6: who may not know learns the same of an owner
// that is not there, has another uid, another namespace or another kind.
func TestProblems_Reveal(t *testing.T) {
	messages := map[string]bool{}
	for _, text := range []string{
		"ConfigMap a/c -> Widget w =u",
		"Widget a/w =secret\nConfigMap a/c -> Widget w =u",
		"Widget secret/w =u\nConfigMap a/c -> Widget w =u",
		"Gadget a/secret =u\nConfigMap a/c -> Widget w =u",
	} {
		s := subject(t, text, "ConfigMap a/c")
		s.References[0].Reveal = false
		problems := explain.Problems(s)
		message := explain.Join(problems)
		messages[message] = true
		if strings.Contains(message, "secret") || len(problems) != 1 || problems[0].Rule != rules.R11 {
			t.Errorf("%s: %s", text, message)
		}
	}
	if len(messages) != 1 {
		t.Errorf("the sentences can be told apart: %v", messages)
	}
}

// TestMessage_OneLine: no input breaks the line, whatever it holds.
func TestMessage_OneLine(t *testing.T) {
	evil := "a\nb\r\n\u2028" + strings.Repeat("é", 500)
	for _, serving := range []graph.Serving{graph.Served, graph.NotServed, graph.VanishedRecently, graph.ServedAgain} {
		s := explain.Subject{Target: explain.Target{Kind: evil, Namespace: evil, Name: evil, UID: "u"}}
		ref := metav1.OwnerReference{APIVersion: evil, Kind: evil, Name: evil, UID: "u"}
		mapping := graph.Mapping{Type: graph.Type{Kind: evil, APIVersion: evil, Namespaced: true, Serving: serving}}
		for _, answer := range []rules.Answer{rules.Failed, rules.NotFound, rules.Found} {
			found := &explain.Target{APIVersion: evil, Kind: evil, Namespace: "x", Name: evil}
			s.References = append(s.References, explain.Reference{
				OwnerReference: ref, Mapping: mapping, Reveal: true, Elsewhere: found, Suggest: []graph.Type{mapping.Type},
				Classification: rules.Classify("a", ref, rules.Facts{Mapping: mapping, Answer: answer, UID: "u"}),
			})
		}
		for _, p := range explain.Problems(s) {
			for _, text := range []string{p.Message(), p.Fix, p.Wrong, p.Consequence} {
				if strings.ContainsAny(text, "\n\r\u2028") {
					t.Errorf("several lines: %q", text)
				}
			}
		}
	}
}

// TestProblems_Consequence: what the collector does to the whole object is said
// of each of its references.
func TestProblems_Consequence(t *testing.T) {
	s := subject(t, "Widget a/w\nConfigMap a/c -> Widget w; Gizmo:nowhere.example/v1 g; Widget ghost", "ConfigMap a/c")
	problems := explain.Problems(s)
	if len(problems) != 2 || !strings.Contains(problems[1].Consequence, "never delete this ConfigMap as long as ownerReferences[1] cannot be judged") {
		t.Error(explain.Join(problems))
	}
	s = subject(t, "Widget a/w\nClusterWidget p\nClusterRole r -> ClusterWidget ghost; Widget w =Widget/a/w", "ClusterRole r")
	problems = explain.Problems(s)
	if len(problems) != 2 || !strings.Contains(problems[0].Consequence, "never delete this ClusterRole") {
		t.Error(explain.Join(problems))
	}
	if got := explain.Error.String() + explain.Warning.String() + explain.Info.String(); got != "errorwarninginfo" {
		t.Error(got)
	}
	// A kind that is not known is named as it is written, and has no namespace.
	s = explain.Subject{Target: explain.Target{Kind: "ConfigMap", Namespace: "a"}}
	s.References = []explain.Reference{{Classification: rules.Classification{Class: rules.Absent, Rule: rules.K1}, Reveal: true}}
	s.References[0].Kind, s.References[0].Name = "Thing", "t"
	if got := explain.Join(explain.Problems(s)); !strings.Contains(got, `Thing "t" does not exist; the garbage`) {
		t.Error(got)
	}
}

// TestCut: a person is told of the first few, and first of those that deny.
func TestCut(t *testing.T) {
	var problems []explain.Problem
	for i := range 2 * explain.Told {
		problems = append(problems, explain.Problem{Index: i, Deny: i == explain.Told})
	}
	first, more := explain.Cut(problems)
	if len(first) != explain.Told || more != explain.Told || first[0].Index != explain.Told || first[1].Index != 0 {
		t.Errorf("%d more than %+v", more, first)
	}
	if first, more := explain.Cut(problems[:2]); len(first) != 2 || more != 0 {
		t.Errorf("%d more than %+v", more, first)
	}
}

func TestTooMany(t *testing.T) {
	want := `metadata.ownerReferences: Invalid value: "300": these are more than 200 owners; so many are not looked at, and any of them may be wrong; drop references, or split the object`
	if got := explain.TooMany(300, 200).Message(); got != want {
		t.Errorf("got %s", got)
	}
}

// TestProblems_NoUID: what has no uid, such as a ComponentStatus, cannot be written.
func TestProblems_NoUID(t *testing.T) {
	s := subject(t, "Widget a/w =new\nConfigMap a/c -> Widget w =old", "ConfigMap a/c")
	s.References[0].Found.UID = ""
	if got := explain.Join(explain.Problems(s)); !strings.Contains(got, "has no uid, so that it cannot be an owner") || strings.Contains(got, "use that uid") {
		t.Error(got)
	}
}

// TestProblems_Blocks is row F7: what cannot be judged keeps another owner waiting.
func TestProblems_Blocks(t *testing.T) {
	s := subject(t, "Widget a/w\nConfigMap a/c -> Widget w +b; Gizmo:nowhere.example/v1 g", "ConfigMap a/c")
	problems := explain.Problems(s)
	if len(problems) != 2 || problems[0].Rule != rules.F7 || problems[0].Severity != explain.Warning || problems[0].Deny {
		t.Fatal(explain.Join(problems))
	}
	want := `metadata.ownerReferences[0].blockOwnerDeletion: this ConfigMap blocks Widget "w", and is not collected as long as ownerReferences[1] cannot be judged; a foreground deletion of Widget "w" would wait for that`
	if got := problems[0].Diagnosis(); got != want {
		t.Errorf("got %s", got)
	}
}

// TestProblems_Deleting is row R03: what is going already is not lost by its references.
func TestProblems_Deleting(t *testing.T) {
	s := subject(t, "ConfigMap a/c -> Widget ghost", "ConfigMap a/c")
	s.Deleting = true
	problems := explain.Problems(s)
	if len(problems) != 1 || problems[0].Severity != explain.Info || !strings.Contains(problems[0].Diagnosis(), "is being deleted already") {
		t.Error(explain.Join(problems))
	}
	if got := s.Decision().Action; got != rules.SkipTerminating {
		t.Errorf("decided to %s", got)
	}
}

// TestProblems_Unmonitored is row R02.
func TestProblems_Unmonitored(t *testing.T) {
	s := subject(t, "ConfigMap a/c -> Widget ghost", "ConfigMap a/c")
	s.Unmonitored = true
	if got := explain.Join(explain.Problems(s)); !strings.Contains(got, "does not observe this type and would never delete this ConfigMap") {
		t.Error(got)
	}
}
