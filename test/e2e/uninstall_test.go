package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/helm"
	"labhub.io/teamspace/test/world"
)

// TestUninstall: with TeamSpaces, under each policy, by the hook's real pod; what stays is
// adopted by the next installation.
func TestUninstall(t *testing.T) {
	w := begin(t)
	must(t, w, "install", brief, "--set=uninstall.policy=Fail")
	const teams = 30
	uids := populate(t, w, teams)

	if out, err := try(t, w, "uninstall"); err == nil {
		t.Fatalf("with policy Fail and TeamSpaces it was uninstalled:\n%s", out)
	}
	wantDenied(t, w)
	wantAdopted(t, w, uids)

	must(t, w, "rollback", "1") // by which helm forgets that it was to go
	must(t, w, "upgrade", brief, "--set=uninstall.policy=Orphan")
	must(t, w, "uninstall", "--wait")
	wantNothingLeft(t, w)
	wantReleased(t, w, uids)

	must(t, w, "install", brief, "--set=uninstall.policy=Delete")
	archived := make([]string, teams)
	for i := range teams {
		archived[i] = string(w.AwaitReady(t, name(i)).UID)
	}
	wantSame(t, w, uids)
	must(t, w, "uninstall", "--wait")
	wantNothingLeft(t, w)
	for i := range teams {
		w.AwaitGone(t, world.TeamNamespace(name(i)))
	}
	wantRecords(t, w, archived)
}

// wantRecords: the archive has one of each TeamSpace.
func wantRecords(t *testing.T, w *world.World, uids []string) {
	t.Helper()
	records := w.MustKubectl(t, "-n", world.ArchiveNamespace, "get", "configmaps", "-o", "name")
	for _, uid := range uids {
		if !strings.Contains(records, uid) {
			t.Errorf("there is no record of the TeamSpace with the uid %s", uid)
		}
	}
}

func name(i int) string { return fmt.Sprintf("e2e-%02d", i) }

// populate makes TeamSpaces until there are so many, and returns the uids of the namespaces of
// all of them once they are Ready.
func populate(t *testing.T, w *world.World, teams int) map[string]string {
	t.Helper()
	for i := range teams {
		if err := client.IgnoreAlreadyExists(w.Client.Create(t.Context(), world.TeamSpace(name(i), 1, "1"))); err != nil {
			t.Fatal(err)
		}
	}
	uids := map[string]string{}
	for i := range teams {
		w.AwaitReady(t, name(i))
		ns := world.TeamNamespace(name(i))
		w.Get(t, ns)
		uids[ns.Name] = string(ns.UID)
	}
	return uids
}

// wantAdopted: the TeamSpaces of these namespaces are Ready, with the namespaces that they had.
func wantAdopted(t *testing.T, w *world.World, uids map[string]string) {
	t.Helper()
	for ns := range uids {
		owner, _ := v1alpha1.TeamSpaceFor(ns)
		w.AwaitReady(t, owner)
	}
	wantSame(t, w, uids)
}

// wantSame: the teams' namespaces are those that they were.
func wantSame(t *testing.T, w *world.World, uids map[string]string) {
	t.Helper()
	there := namespaces(t, w)
	for name, uid := range uids {
		if got := string(there[name].UID); got != uid {
			t.Errorf("namespace %s had the uid %s and has %q", name, uid, got)
		}
	}
}

// wantReleased: they are, and belong to nobody.
func wantReleased(t *testing.T, w *world.World, uids map[string]string) {
	t.Helper()
	wantSame(t, w, uids)
	there := namespaces(t, w)
	for name := range uids {
		if owners := there[name].OwnerReferences; len(owners) > 0 {
			t.Errorf("namespace %s has the owners %v", name, owners)
		}
	}
}

// namespaces are all that are not on their way out, by name.
func namespaces(t *testing.T, w *world.World) map[string]corev1.Namespace {
	t.Helper()
	var all corev1.NamespaceList
	if err := w.Client.List(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	there := map[string]corev1.Namespace{}
	for _, ns := range all.Items {
		if ns.DeletionTimestamp == nil {
			there[ns.Name] = ns
		}
	}
	return there
}

// TestUninstallHowever: in whatever way TeamSpace goes, no request is judged by nobody, nothing
// hangs, teams keep their namespaces, and the next installation adopts them.
func TestUninstallHowever(t *testing.T) {
	w := begin(t)
	must(t, w, "install", brief)
	for _, way := range []struct {
		name  string
		teams int
		leave func(*testing.T, *world.World)
		// again: the TeamSpaces are gone, and have to be made again to adopt anything.
		again bool
	}{
		{name: "scaled to zero before", teams: 3, leave: scaledToZero},
		{name: "without hooks, then drained by hand", teams: 3, leave: withoutHooks},
		{name: "the namespace of the release goes first", teams: 3, leave: namespaceFirst},
		{name: "the type goes first", teams: 3, leave: typeFirst, again: true},
		{name: "the hook is killed midway", teams: 30, leave: hookKilled},
	} {
		passed := t.Run(way.name, func(t *testing.T) {
			uids := populate(t, w, way.teams)
			way.leave(t, w)
			wantNone(t, w, judges)
			wantNothingHeld(t, w)
			wantReleased(t, w, uids)
			must(t, w, "install", brief)
			if way.again {
				populate(t, w, way.teams)
			}
			wantAdopted(t, w, uids)
		})
		if !passed {
			return // the next one would begin with what this one has left
		}
	}
}

// scaledToZero: nobody of ours runs when the hook begins.
func scaledToZero(t *testing.T, w *world.World) {
	for _, of := range []string{"controller", "webhook"} {
		w.MustKubectl(t, "-n", world.ReleaseNamespace, "scale", "deployment/teamspace-"+of, "--replicas=0")
		w.MustKubectl(t, "-n", world.ReleaseNamespace, "wait", "pods", "-l", component+"="+of, "--for=delete", "--timeout=2m")
	}
	must(t, w, "uninstall", "--wait")
	wantNothingLeft(t, w)
}

// withoutHooks leaves finalizers and references that nobody takes off, until a person does.
func withoutHooks(t *testing.T, w *world.World) {
	must(t, w, "uninstall", "--wait", "--no-hooks")
	drainByHand(t, w)
	wantNothingLeft(t, w)
}

// namespaceFirst takes the release itself away: helm knows of none any more. Roles, which let
// nobody do anything now, stay until the next installation takes them over.
func namespaceFirst(t *testing.T, w *world.World) {
	w.MustKubectl(t, "delete", "namespace", world.ReleaseNamespace, "--timeout=2m")
	drainByHand(t, w)
	makeNamespace(t, w)
}

// typeFirst: the TeamSpaces go with their type, each with a record, which is nobody's wish to
// delete what teams have.
func typeFirst(t *testing.T, w *world.World) {
	var uids []string
	for _, ts := range teamSpaces(t, w) {
		uids = append(uids, string(ts.UID))
	}
	w.MustKubectl(t, "delete", "customresourcedefinition", v1alpha1.CRDName, "--timeout=2m")
	wantRecords(t, w, uids)
	must(t, w, "uninstall", "--wait")
	wantNothingLeft(t, w)
}

// hookKilled kills the hook when it has released some of the TeamSpaces, and helm too, which
// waits for it; then helm is run again.
func hookKilled(t *testing.T, w *world.World) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := command(t, w, "uninstall", "", "--wait")
	ended := make(chan error, 1)
	go func() {
		_, err := helm.Four.Run(ctx, t, first...)
		ended <- err
	}()
	pid := process(t, awaitHook(t, w))
	all := len(teamSpaces(t, w))
	world.Eventually(t, podPatience, "the hook is midway", func() error {
		if held := held(t, w); held == all {
			return errors.New("it has released none")
		}
		return syscall.Kill(pid, syscall.SIGKILL)
	})
	if left := held(t, w); left == 0 {
		t.Fatal("the hook had released all: this is not what the test is about")
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("helm says that it has uninstalled, with its hook killed")
	}
	must(t, w, "uninstall", "--wait")
	wantNothingLeft(t, w)
}

// awaitHook returns the pod of the hook when its container runs.
func awaitHook(t *testing.T, w *world.World) (pod corev1.Pod) {
	t.Helper()
	world.Eventually(t, podPatience, "the hook runs", func() error {
		all := pods(t, w, "drain")
		if len(all) != 1 || len(all[0].Status.ContainerStatuses) != 1 || all[0].Status.ContainerStatuses[0].State.Running == nil {
			return fmt.Errorf("%d pods, or no container", len(all))
		}
		pod = all[0]
		return nil
	})
	return pod
}

// held counts the TeamSpaces that have our finalizer.
func held(t *testing.T, w *world.World) int {
	t.Helper()
	count := 0
	for _, ts := range teamSpaces(t, w) {
		if len(ts.Finalizers) > 0 {
			count++
		}
	}
	return count
}

// drainByHand drains as an administrator does with no release to run a hook.
func drainByHand(t *testing.T, w *world.World) {
	t.Helper()
	if out, err := drainCommand(t.Context(), w, "Orphan").CombinedOutput(); err != nil {
		t.Fatalf("manager drain: %v\n%s", err, out)
	}
}
