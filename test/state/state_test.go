package state

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/page"
	"labhub.io/teamspace/test/program"
	"labhub.io/teamspace/test/world"
)

const states = "states.md"

// TestState: each row of the page is what one sees of a TeamSpace in that state, and
// kstatus and kubectl wait make of it what the row says.
func TestState(t *testing.T) {
	w := lab.World(t)
	var documented []string
	for _, row := range page.Table(t, states, "States") {
		documented = append(documented, row["state"])
		t.Run(row["state"], func(t *testing.T) {
			bring, ok := scenarios[row["state"]]
			if !ok {
				t.Fatal("nobody knows how to bring a TeamSpace into this state")
			}
			name := "state-" + strings.ToLower(row["state"])
			if len(name) > 58 {
				t.Fatalf("the name %q is too long", name)
			}
			bring(t, w, name)
			world.Eventually(t, world.Patience, "the TeamSpace is as the page says", func() error { return compare(t, w, name, row) })
			compareKubectl(t, w, name, row)
		})
	}
	for state := range scenarios {
		if !slices.Contains(documented, state) {
			t.Errorf("the page has no row for %s", state)
		}
	}
}

// compare returns an error unless the conditions and kstatus are those of the row.
func compare(t *testing.T, w *world.World, name string, row page.Row) error {
	// As others see it, who have no type of ours.
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.GroupVersionKind)
	if err := w.Client.Get(t.Context(), client.ObjectKey{Name: name}, object); err != nil {
		return err
	}
	ts := &v1alpha1.TeamSpace{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, ts); err != nil {
		return err
	}
	for _, conditionType := range []string{"Ready", "Reconciling", "Stalled", "Archived"} {
		got := "-"
		if c := meta.FindStatusCondition(ts.Status.Conditions, conditionType); c != nil {
			got = string(c.Status) + " " + c.Reason
		}
		if got != row[conditionType] {
			return fmt.Errorf("%s is %q, the page says %q: %+v", conditionType, got, row[conditionType], ts.Status)
		}
	}
	computed, err := status.Compute(object)
	if err != nil {
		return err
	}
	if computed.Status.String() != row["kstatus"] {
		return fmt.Errorf("kstatus says %s (%s), the page %s", computed.Status, computed.Message, row["kstatus"])
	}
	return nil
}

func compareKubectl(t *testing.T, w *world.World, name string, row page.Row) {
	t.Helper()
	answer := w.Kubectl(t, "wait", "teamspace/"+name, "--for=condition=Ready", "--timeout=1s")
	got := "returns"
	if answer.Code != 0 {
		got = "waits"
		if !strings.Contains(answer.Out, "timed out") {
			t.Errorf("kubectl wait failed: %s", answer.Out)
		}
	}
	if got != row["kubectl"] {
		t.Errorf("kubectl wait %s, the page says %s: %s", got, row["kubectl"], answer.Out)
	}
}

// TestState_SeenOnTheWay: the page tells of every combination of conditions that a
// TeamSpace goes through, from its first status to its end.
func TestState_SeenOnTheWay(t *testing.T) {
	w := lab.World(t)
	known := map[string]bool{}
	for _, row := range page.Table(t, states, "States") {
		known[strings.Join([]string{row["Ready"], row["Reconciling"], row["Stalled"]}, ", ")] = true
	}
	watched, err := w.Client.Watch(t.Context(), &v1alpha1.TeamSpaceList{}, client.MatchingLabels{"example.com/way": "yes"})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	ts := world.TeamSpace("on-the-way", 2, "1")
	ts.Labels = map[string]string{"example.com/way": "yes"}
	ts = w.Serve(t, ts)
	w.Patch(t, ts, `{"spec": {"pods": 3}}`)
	w.AwaitReady(t, ts.Name)
	w.Delete(t, ts)
	w.AwaitGone(t, ts)
	for event := range watched.ResultChan() {
		seen, ok := event.Object.(*v1alpha1.TeamSpace)
		if !ok {
			t.Fatalf("the watch sent %v", event)
		}
		if state := conditionsOf(seen); !known[state] {
			t.Errorf("a TeamSpace is in a state that the page does not tell of: %s", state)
		}
		if event.Type == watch.Deleted {
			return
		}
	}
	t.Error("the watch ended before the TeamSpace")
}

func conditionsOf(ts *v1alpha1.TeamSpace) string {
	var all []string
	for _, conditionType := range []string{"Ready", "Reconciling", "Stalled"} {
		got := "-"
		if c := meta.FindStatusCondition(ts.Status.Conditions, conditionType); c != nil {
			got = string(c.Status) + " " + c.Reason
		}
		all = append(all, got)
	}
	return strings.Join(all, ", ")
}

// TestPage_NamesTestsThatExist: each transition is shown by a test, and all states in
// them are on the page.
func TestPage_NamesTestsThatExist(t *testing.T) {
	known := map[string]bool{"gone": true, "any living": true}
	for _, row := range page.Table(t, states, "States") {
		known[row["state"]] = true
	}
	tests := testsOfTheModule(t)
	for _, row := range page.Table(t, states, "Transitions") {
		if !tests[row["test"]] {
			t.Errorf("from %s to %s: there is no %s", row["from"], row["to"], row["test"])
		}
		if !known[row["from"]] || !known[row["to"]] {
			t.Errorf("from %s to %s: want two states of the page", row["from"], row["to"])
		}
	}
}

func testsOfTheModule(t *testing.T) map[string]bool {
	t.Helper()
	root, err := program.Root()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	err = filepath.WalkDir(filepath.Join(root, "test"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "func Test"); ok {
				name, _, _ := strings.Cut(rest, "(")
				tests["Test"+name] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

// held keeps a TeamSpace or a namespace from going.
const held = "example.com/holds"

// letGo takes the finalizer away at the end of a test.
func letGo(t *testing.T, w *world.World, object client.Object) {
	t.Helper()
	t.Cleanup(func() {
		nothing := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
		if err := w.Client.Patch(context.WithoutCancel(t.Context()), object, nothing); err != nil {
			t.Error(err)
		}
	})
}
