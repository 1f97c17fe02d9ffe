package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/world"
)

// TestInstall is the command of the README on an empty cluster, and what it promises.
func TestInstall(t *testing.T) {
	w := begin(t)
	must(t, w, "install", "--create-namespace")
	awaitPods(t, w, "controller")
	awaitPods(t, w, "webhook")
	w.AwaitServing(t)
	wantDenied(t, w)
	w.Serve(t, world.TeamSpace("first", 2, "1"))
	if out := must(t, w, "test"); !strings.Contains(out, "Succeeded") {
		t.Errorf("helm test:\n%s", out)
	}
}

// TestPlannedEvents: while the chart is installed, upgraded and rolled back, and its pods are
// restarted one by one, no write fails; none is left unjudged either, once the guard has begun.
func TestPlannedEvents(t *testing.T) {
	w := begin(t)
	during(t, w, "install", func() { must(t, w, "install") })
	w.AwaitServing(t)
	for _, event := range []struct {
		name string
		act  func()
	}{
		{"upgrade", func() { must(t, w, "upgrade", "--set=podAnnotations.version=next") }},
		{"rollback", func() { must(t, w, "rollback", "--wait", "--timeout=4m", "1") }},
		{"rolling restart", func() { restart(t, w) }},
	} {
		before := passed(t, w)
		during(t, w, event.name, event.act)
		if more := passed(t, w) - before; more > 0 {
			t.Errorf("during the %s %g writes were let pass unjudged", event.name, more)
			tellCauses(t, w)
		}
		wantDenied(t, w)
	}
}

// during writes while something happens, and then looks how the writes fared.
func during(t *testing.T, w *world.World, name string, act func()) {
	t.Helper()
	l, stop := start(t, w)
	defer stop()
	act()
	stop()
	l.want(t, name)
}

// restart replaces all pods, as an administrator does.
func restart(t *testing.T, w *world.World) {
	t.Helper()
	for _, name := range []string{"webhook", "controller"} {
		deployment := "deployment/teamspace-" + name
		w.MustKubectl(t, "-n", world.ReleaseNamespace, "rollout", "restart", deployment)
		w.MustKubectl(t, "-n", world.ReleaseNamespace, "rollout", "status", deployment, "--timeout=4m")
	}
}

// TestPodKilled: of a webhook that dies by SIGKILL the kubelet makes a new one, and meanwhile no
// write fails: those that nobody judged are let pass, and counted.
func TestPodKilled(t *testing.T) {
	w := begin(t)
	must(t, w, "install")
	w.AwaitServing(t)
	before := passed(t, w)
	during(t, w, "SIGKILL of a pod", func() {
		victim := pods(t, w, "webhook")[0]
		kill(t, victim)
		world.Eventually(t, podPatience, "the kubelet has started it again", func() error {
			if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(&victim), &victim); err != nil {
				return err
			}
			if victim.Status.ContainerStatuses[0].RestartCount == 0 {
				return errors.New("it has not")
			}
			return nil
		})
		awaitPods(t, w, "webhook")
	})
	t.Logf("%g writes were let pass unjudged", passed(t, w)-before)
	tellCauses(t, w)
	wantDenied(t, w)
}

// kill sends SIGKILL to the manager in a pod.
func kill(t *testing.T, pod corev1.Pod) {
	t.Helper()
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	files, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil || id == "" {
		t.Fatalf("looking for the container %q: %v", id, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte(id)) {
			continue // it has ended, or is another
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("there is no process of the container %s", id)
}

// TestAllPodsGone: with failurePolicy Fail the webhooks cannot keep their own pods from coming
// back, and what they would judge is refused until they do.
func TestAllPodsGone(t *testing.T) {
	w := begin(t)
	must(t, w, "install", "--set=guard.failurePolicy=Fail")
	w.AwaitServing(t)
	gone := map[string]bool{}
	for _, pod := range pods(t, w, "webhook") {
		gone[pod.Name] = true
	}
	w.MustKubectl(t, "-n", world.ReleaseNamespace, "delete", "pods", "-l", component+"=webhook", "--force", "--grace-period=0")
	if answer := w.KubectlWith(t, wrong, "create", "--dry-run=server", "-f", "-"); answer.Code == 0 {
		t.Errorf("with no webhook a wrong reference was let in:\n%s", answer.Out)
	}
	awaitPods(t, w, "webhook")
	for _, pod := range pods(t, w, "webhook") {
		if gone[pod.Name] {
			t.Errorf("pod %s was not deleted: the test shows nothing", pod.Name)
		}
	}
	awaitReached(t, w)
	during(t, w, "all pods are back", func() { w.Serve(t, world.TeamSpace("after", 1, "1")) })
}

// TestUninstall: with TeamSpaces, under each policy, by the hook's real pod; what stays is
// adopted by the next installation.
func TestUninstall(t *testing.T) {
	w := begin(t)
	must(t, w, "install", "--set=uninstall.policy=Fail")
	const teams = 30
	for i := range teams {
		w.Create(t, world.TeamSpace(name(i), 1, "1"))
	}
	uids := map[string]string{}
	for i := range teams {
		w.AwaitReady(t, name(i))
		ns := world.TeamNamespace(name(i))
		w.Get(t, ns)
		uids[ns.Name] = string(ns.UID)
	}

	if out, err := try(t, w, "uninstall"); err == nil {
		t.Fatalf("with policy Fail and TeamSpaces it was uninstalled:\n%s", out)
	}
	wantDenied(t, w)
	for i := range teams {
		w.AwaitReady(t, name(i))
	}

	must(t, w, "rollback", "1", "--wait", "--timeout=4m") // by which helm forgets that it was to go
	must(t, w, "upgrade", "--set=uninstall.policy=Orphan")
	must(t, w, "uninstall", "--wait")
	wantNothingLeft(t, w)
	wantSame(t, w, uids)

	must(t, w, "install", "--set=uninstall.policy=Delete")
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
	records := w.MustKubectl(t, "-n", world.ArchiveNamespace, "get", "configmaps", "-o", "name")
	for i, uid := range archived {
		if !strings.Contains(records, uid) {
			t.Errorf("there is no record of %s, uid %s", name(i), uid)
		}
	}
}

func name(i int) string { return fmt.Sprintf("e2e-%02d", i) }

// wantSame: the teams' namespaces are those that they were.
func wantSame(t *testing.T, w *world.World, uids map[string]string) {
	t.Helper()
	var all corev1.NamespaceList
	if err := w.Client.List(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	there := map[string]string{}
	for _, ns := range all.Items {
		if ns.DeletionTimestamp == nil {
			there[ns.Name] = string(ns.UID)
		}
	}
	for name, uid := range uids {
		if there[name] != uid {
			t.Errorf("namespace %s had the uid %s and has %q", name, uid, there[name])
		}
	}
}
