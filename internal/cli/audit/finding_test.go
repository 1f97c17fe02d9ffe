package audit

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/teamspace/internal/cli/finding"
	"labhub.io/teamspace/ownership/explain"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/ownership/rules"
)

// liveObject is an object of a scenario as it would have been read.
func liveObject(t *testing.T, text, kind, namespace, name string) live {
	t.Helper()
	s, err := ownershiptest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	g := s.Graph
	for id := range graph.ID(g.Len()) {
		o := g.Object(id)
		if o.Kind != kind || o.Namespace != namespace || o.Name != name {
			continue
		}
		l := live{references: explain.Of(rules.Predict(g), id).References, settled: true}
		l.APIVersion, l.Kind = o.APIVersion, o.Kind
		l.Namespace, l.Name, l.UID, l.OwnerReferences = o.Namespace, o.Name, o.UID, o.Owners
		if o.Deleting {
			l.DeletionTimestamp = new(metav1.Now())
		}
		gv, _ := schema.ParseGroupVersion(o.APIVersion)
		l.resource = gv.WithResource(strings.ToLower(o.Kind) + "s")
		return l
	}
	t.Fatalf("no %s %s/%s", kind, namespace, name)
	return live{}
}

// scenarios are one for each thing that can be wrong, in the notation of ownershiptest.
var scenarios = []struct {
	name, text              string
	kind, namespace, object string
}{
	{"R05 a cluster-scoped dependent", "Widget a/w\nClusterRole r -> Widget w =Widget/a/w +b", "ClusterRole", "", "r"},
	{"R06 a version that is not served", "Widget a/w\nSecret a/s -> Widget:acme.example/v1alpha1 w =Widget/a/w", "Secret", "a", "s"},
	{"R06 a group that is not served", "Secret a/s -> Gizmo:nowhere.example/v1 g", "Secret", "a", "s"},
	{"R06 and F7 it blocks another owner", "Widget a/w\nSecret a/s -> Widget w +b; Gizmo:nowhere.example/v1 g", "Secret", "a", "s"},
	{"R08 another owner is solid", "Widget a/w\nSecret a/s -> Widget w; Widget ghost", "Secret", "a", "s"},
	{"R11 absent", "Secret a/s -> Widget ghost", "Secret", "a", "s"},
	{"R11 another uid", "Widget a/w =new\nSecret a/s -> Widget w =old", "Secret", "a", "s"},
	{"R11 another uid, and data to lose", "StatefulSet a/db =new\nPersistentVolumeClaim a/data -> StatefulSet db =old", "PersistentVolumeClaim", "a", "data"},
	{"R11 of an object that goes already", "Secret a/s dying [hold] -> Widget ghost", "Secret", "a", "s"},
	{"R13 in another namespace", "Widget b/w\nSecret a/s -> Widget w =Widget/b/w", "Secret", "a", "s"},
	{"R13 in another namespace, and the name is taken", "Widget a/w\nWidget b/w\nSecret a/s -> Widget w =Widget/b/w", "Secret", "a", "s"},
	{"R15 another name", "Widget a/w\nSecret a/s -> Widget v =Widget/a/w", "Secret", "a", "s"},
	{"R15 another name, and data to lose", "StatefulSet a/db\nPersistentVolumeClaim a/data -> StatefulSet old =StatefulSet/a/db", "PersistentVolumeClaim", "a", "data"},
	{"R15 another kind", "Widget a/w\nSecret a/s -> Gadget w =Widget/a/w", "Secret", "a", "s"},
	{"R15 a list", "Widget a/w\nSecret a/s -> WidgetList:acme.example/v1 w =Widget/a/w", "Secret", "a", "s"},
	{"R16 twice, and the later is wrong", "Widget a/w\nSecret a/s -> Widget w; Widget v =Widget/a/w", "Secret", "a", "s"},
	{"R16 twice, and the earlier is wrong", "Widget a/w\nSecret a/s -> Widget v =Widget/a/w; Widget w", "Secret", "a", "s"},
	{"R16 twice", "Widget a/w\nSecret a/s -> Widget w; Widget w +b", "Secret", "a", "s"},
	{"R18 itself", "Widget a/w -> Widget w", "Widget", "a", "w"},
	{"F6 itself, blocking", "Widget a/w -> Widget w +b", "Widget", "a", "w"},
	{"K7 the owner waits", "Widget a/w dying [fg]\nSecret a/s -> Widget w", "Secret", "a", "s"},
	{"C48 a Lease of a Node that was made again", "type coordination.k8s.io/v1 Lease namespaced\ntype v1 Node\nNode n =new\nLease kube-node-lease/n -> Node n =old", "Lease", "kube-node-lease", "n"},
	{"H1 a kind that no webhook sees", "type admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration\nWidget a/w\nValidatingWebhookConfiguration v -> Widget w =Widget/a/w", "ValidatingWebhookConfiguration", "", "v"},
	{"C22 valid, whatever it costs", "Widget a/one\nWidget a/two\nSecret a/s -> Widget one", "Secret", "a", "s"},
	{"C57 a cluster-scoped owner", "ClusterWidget p\nSecret a/s -> ClusterWidget p +b", "Secret", "a", "s"},
	{"R01 none", "Secret a/s", "Secret", "a", "s"},
}

// TestFindings compares all that is told of each scenario with a golden file, and applies
// each patch: what it does to the references stands there too.
func TestFindings(t *testing.T) {
	var out strings.Builder
	for _, tc := range scenarios {
		l := liveObject(t, tc.text, tc.kind, tc.namespace, tc.object)
		out.WriteString("## " + tc.name + "\n")
		findings := l.findings()
		report := reportOf(findings, nil)
		report.Print(&out)
		if err := printPatches(&out, findings, report); err != nil {
			t.Fatal(err)
		}
		var edits []edit
		for _, f := range findings {
			out.WriteString("verdict: " + f.Verdict + ", class " + string(f.Reference.Class) + "\n")
			if len(f.Patch) > 0 {
				edits = append(edits, f.edit)
			}
		}
		if len(edits) > 0 {
			out.WriteString("fixed: " + applied(t, l, l.patch(edits...)) + "\n")
		}
		out.WriteString("\n")
	}
	golden(t, "testdata/findings.txt", out.String())
}

// applied is what a patch leaves of the references.
func applied(t *testing.T, l live, operations []finding.Operation) string {
	t.Helper()
	document, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": l.UID, "ownerReferences": l.OwnerReferences}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(operations)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		t.Fatal(err)
	}
	patched, err := patch.Apply(document)
	if err != nil {
		t.Fatal(err)
	}
	var o metav1.PartialObjectMetadata
	if err := json.Unmarshal(patched, &o); err != nil {
		t.Fatal(err)
	}
	var refs []string
	for _, ref := range o.OwnerReferences {
		refs = append(refs, ref.APIVersion+" "+ref.Kind+" "+ref.Name+" "+string(ref.UID))
	}
	return strings.Join(refs, ", ")
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if ownershiptest.Update() {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; -update writes it anew: %s", file, diff)
	}
}

// TestPatch_Several: all fixes of one object are one patch, in which none moves another.
func TestPatch_Several(t *testing.T) {
	l := liveObject(t, "Widget a/w\nSecret a/s -> Widget ghost; Widget w; Widget v =Widget/a/w; Widget other", "Secret", "a", "s")
	var edits []edit
	for _, f := range l.findings() {
		edits = append(edits, f.edit)
	}
	if got, want := applied(t, l, l.patch(edits...)), "acme.example/v1 Widget w Widget/a/w"; got != want {
		t.Errorf("left %q, want %q", got, want)
	}
	l.UID = "another"
	patch, err := json.Marshal(l.patch(edits...))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(patch), `{"op":"test","path":"/metadata/uid","value":"another"}`) {
		t.Errorf("the uid is not tested: %s", patch)
	}
}

// TestCommand_Quoted: no name gets out of the word that it is in.
func TestCommand_Quoted(t *testing.T) {
	l := liveObject(t, "Secret a/s -> Widget ghost", "Secret", "a", "s")
	l.references[0].Name = "it's; rm -rf /"
	command, err := l.command([]edit{{}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(command, `it'\''s; rm -rf /`) {
		t.Error(command)
	}
}

// TestCandidates: the survey is asked for a live look at what may be wrong, and at nothing
// else.
func TestCandidates(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"valid":                {"Widget a/w\nClusterWidget p\nSecret a/s -> Widget w; ClusterWidget p +b\nSecret a/none", nil},
		"each kind of wrong":   {"Widget a/w\nSecret a/1 -> Widget x\nSecret a/2 -> Gizmo:n/v1 g\nClusterRole 3 -> Widget w", []string{"1", "2", "3"}},
		"twice":                {"Widget a/w\nSecret a/s -> Widget w; Widget w", []string{"s"}},
		"itself":               {"Widget a/w -> Widget w", []string{"w"}},
		"a cycle, and its end": {"Secret a/1 -> Secret 2\nSecret a/2 -> Secret 3\nSecret a/3 -> Secret 1\nSecret a/4 -> Secret 1", []string{"1", "2", "3"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ownershiptest.Parse(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, id := range candidates(s.Graph, scope{}, newRings(s.Graph)) {
				got = append(got, s.Graph.Name(id))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if inside := candidates(s.Graph, scope{namespace: "elsewhere"}, newRings(s.Graph)); len(inside) > 0 {
				t.Errorf("%v are in no such namespace", inside)
			}
		})
	}
}

// TestLost: an object whose namespace is not there; nobody knows if not all were read.
func TestLost(t *testing.T) {
	text := "Namespace a\nSecret a/s\nSecret gone/s\nClusterWidget p"
	for name, tc := range map[string]struct {
		text string
		want int
	}{
		"read":     {text, 1},
		"not read": {"type v1 Namespace unreadable\n" + text, 0},
	} {
		s, err := ownershiptest.Parse(tc.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := lost(s.Graph, scope{}); len(got) != tc.want {
			t.Errorf("%s: %d lost", name, len(got))
		}
	}
}

// TestRefused: who may drop the reference of a namespace is told where that is refused, and
// nothing is promised that the controller does not do.
func TestRefused(t *testing.T) {
	resource := schema.GroupResource{Resource: "namespaces"}
	forbidden, other := apierrors.NewForbidden(resource, "team-a", nil), apierrors.NewInternalError(errors.New("boom"))
	for name, tc := range map[string]struct {
		text, object string
		err          error
		want         string
	}{
		"made again":           {"TeamSpace a =new\nNamespace team-a -> TeamSpace a =old", "Namespace team-a", forbidden, "as soon as it runs: kubectl get deployments"},
		"gone":                 {"Namespace team-a -> TeamSpace a =old", "Namespace team-a", forbidden, "kubectl teamspace restore a: namespaces"},
		"of another name":      {"TeamSpace a =new\nNamespace web -> TeamSpace a =old", "Namespace web", forbidden, "policies are installed: namespaces"},
		"of another owner":     {"Namespace team-a -> ClusterRole r", "Namespace team-a", forbidden, "could not be patched: namespaces"},
		"for another reason":   {"Namespace team-a -> TeamSpace a =old", "Namespace team-a", other, "could not be patched: "},
		"another kind of ours": {"ClusterRole team-a -> TeamSpace a =old", "ClusterRole team-a", forbidden, "could not be patched: namespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			kind, object, _ := strings.Cut(tc.object, " ")
			l := liveObject(t, "type platform.labhub.io/v1alpha1 TeamSpace\n"+tc.text, kind, "", object)
			if got := l.refused([]edit{{}}, tc.err); !errors.Is(got, tc.err) || !strings.Contains(got.Error(), tc.want) {
				t.Errorf("got %q, want %q in it", got, tc.want)
			}
		})
	}
}
