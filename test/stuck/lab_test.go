package stuck

import (
	"errors"
	"strings"
	"testing"

	"labhub.io/teamspace/test/world"
)

// TestLab is the report of the ownership lab, to the letter.
func TestLab(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "op-own")
	delta := create(t, w, "own.labhub.io/v1", "Site", ns, "delta")
	child := create(t, w, "v1", "ConfigMap", ns, "delta-1", held("own.labhub.io/hold"), blocking(delta))
	args := []string{"stuck", "sites.own.labhub.io", "-n", ns}
	if out := w.MustPlugin(t, 0, args...); out != "NONE\n" {
		t.Errorf("before the deletion: %s", out)
	}
	deleteWith(t, w, "foreground", "site", "delta", "-n", ns)
	want := "BLOCKER ConfigMap/delta-1 owner=Site/delta finalizers=own.labhub.io/hold\n" +
		"STUCK Site/delta finalizers=foregroundDeletion\n"
	first := w.MustPlugin(t, 1, args...)
	if first != want {
		t.Errorf("the report is\n%s\nwant\n%s", first, want)
	}
	awaitDeleting(t, w, "configmap", "delta-1", "-n", ns)
	if second := w.MustPlugin(t, 1, args...); second != first {
		t.Errorf("a second report differs:\n%s", second)
	}
	all := w.MustPlugin(t, 1, "stuck", "-n", ns)
	if want := strings.Replace(want, "STUCK", "STUCK ConfigMap/delta-1 finalizers=own.labhub.io/hold\nSTUCK", 1); all != want {
		t.Errorf("of all types the report is\n%s\nwant\n%s", all, want)
	}
	everywhere := w.MustPlugin(t, 1, "stuck", "site", "-A")
	if want := strings.NewReplacer("Map/", "Map/op-own/", "Site/", "Site/op-own/").Replace(want); everywhere != want {
		t.Errorf("everywhere the report is\n%s\nwant\n%s", everywhere, want)
	}
	awaitExplained(t, w, []string{"ConfigMap op-own/delta-1", "own.labhub.io/hold"}, "site/delta", "-n", ns)

	remove(t, w, child)
	world.Eventually(t, world.CollectorPatience, "nothing is stuck any more", func() error {
		if report := w.Plugin(t, args...); report.Code != 0 || report.Out != "NONE\n" {
			return errors.New(report.Out)
		}
		return nil
	})
}

// awaitDeleting waits until something has a deletionTimestamp.
func awaitDeleting(t *testing.T, w *world.World, words ...string) {
	t.Helper()
	world.Eventually(t, world.CollectorPatience, strings.Join(words, " ")+" is being deleted", func() error {
		answer := w.Kubectl(t, append([]string{"get", "-o", "jsonpath={.metadata.deletionTimestamp}"}, words...)...)
		if answer.Code != 0 || answer.Out == "" {
			return errors.New(answer.Out)
		}
		return nil
	})
}

// TestLab_Document has the same in JSON, with the uids and counts that a program needs.
func TestLab_Document(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "op-document")
	delta := create(t, w, "own.labhub.io/v1", "Site", ns, "delta")
	// A blocker that is in no namespace is found all the same, and blocks for ever.
	create(t, w, "rbac.authorization.k8s.io/v1", "ClusterRole", "", "op-document", blocking(delta))
	deleteWith(t, w, "foreground", "site", "delta", "-n", ns)
	var document struct {
		Stuck, Blockers []struct {
			Object, Owner struct{ Kind, Name, Namespace, UID string }
			Finalizers    []string
		}
		Incomplete []any
		Summary    map[string]int
	}
	report := w.Plugin(t, "stuck", "sites", "-n", ns, "-o", "json")
	decode(t, report.Out, &document)
	switch {
	case report.Code != 1 || len(document.Stuck) != 1 || len(document.Blockers) != 1 || document.Incomplete == nil:
		t.Errorf("exit code %d: %s", report.Code, report.Out)
	case document.Stuck[0].Object.UID != string(delta.GetUID()) || document.Blockers[0].Owner.UID != string(delta.GetUID()):
		t.Errorf("uids: %s", report.Out)
	case document.Blockers[0].Object.Kind != "ClusterRole" || document.Summary["stuck"] != 1 || document.Summary["blockers"] != 1:
		t.Errorf("blockers: %s", report.Out)
	}
	text := w.Plugin(t, "stuck", "sites", "-n", ns)
	if err := lacks(text.Err, []string{"note: the blocker ClusterRole op-document is not in namespace op-document"}); err != nil || strings.Contains(text.Out, "note") {
		t.Errorf("the note on a blocker elsewhere: %v\n%s", err, text.Out)
	}
}

// TestLab_Namespace: the finalizers of a namespace are told of it as a blocker, too.
func TestLab_Namespace(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	owner := create(t, w, "acme.example/v1", "ClusterWidget", "", "op-space")
	create(t, w, "v1", "Namespace", "", "op-space", blocking(owner))
	child := create(t, w, "v1", "ConfigMap", "op-space", "child", held("own.labhub.io/hold"))
	deleteWith(t, w, "foreground", "clusterwidget", "op-space")
	awaitDeleting(t, w, "configmap", "child", "-n", "op-space")
	want := "BLOCKER Namespace/op-space owner=ClusterWidget/op-space finalizers=kubernetes\n" +
		"STUCK ClusterWidget/op-space finalizers=foregroundDeletion\n"
	if out := w.MustPlugin(t, 1, "stuck", "clusterwidgets"); out != want {
		t.Errorf("the report is\n%s\nwant\n%s", out, want)
	}
	awaitExplained(t, w, []string{
		"ClusterWidget op-space waits for Namespace op-space, which is being deleted and goes when everything in it is gone (E4)",
	}, "clusterwidget/op-space")
	remove(t, w, child)
	w.AwaitGone(t, owner)
}

// TestStuck_Permissions: what somebody may not read is told, and is never taken for clean.
func TestStuck_Permissions(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "limited")
	create(t, w, "rbac.authorization.k8s.io/v1", "Role", ns, "sites", field([]any{map[string]any{
		"apiGroups": []any{"own.labhub.io"}, "resources": []any{"sites"}, "verbs": []any{"get", "list"},
	}}, "rules"))
	create(t, w, "rbac.authorization.k8s.io/v1", "RoleBinding", ns, "sites",
		field(map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "sites"}, "roleRef"),
		field([]any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "limited"}}, "subjects"))
	as := func(code int, args ...string) string {
		t.Helper()
		report := w.Plugin(t, append([]string{"--as=limited", "stuck"}, args...)...)
		if report.Code != code {
			t.Errorf("stuck %v: exit code %d, want %d\n%s%s", args, report.Code, code, report.Out, report.Err)
		}
		return report.Out
	}
	world.Eventually(t, world.Patience, "the permissions count", func() error {
		if report := w.Plugin(t, "--as=limited", "stuck", "sites", "-n", ns); report.Code != 0 {
			return errors.New(report.Err)
		}
		return nil
	})
	if out := as(0, "sites", "-n", ns); out != "NONE\n" {
		t.Errorf("what may be read is clean: %s", out)
	}
	if out := as(2, "-n", ns); out != "" {
		t.Errorf("what may not be read is called clean: %s", out)
	}
	create(t, w, "own.labhub.io/v1", "Site", ns, "held", held("own.labhub.io/hold"))
	deleteWith(t, w, "background", "site", "held", "-n", ns)
	if out := as(1, "sites", "-n", ns); out != "STUCK Site/held finalizers=own.labhub.io/hold\n" {
		t.Errorf("what may be read is stuck: %s", out)
	}
	if out := as(2, "-n", ns); out != "STUCK Site/held finalizers=own.labhub.io/hold\n" {
		t.Errorf("2 beats 1: %s", out)
	}
}
