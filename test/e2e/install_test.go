package e2e

import (
	"bytes"
	"errors"
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
	mustTest(t, w)
}

// mustTest is `helm test`.
func mustTest(t *testing.T, w *world.World) {
	t.Helper()
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
		{"rollback", func() { must(t, w, "rollback", "1") }},
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
	l.begins(t)
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
	if err := syscall.Kill(process(t, pod), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// process finds that of the manager in a pod.
func process(t *testing.T, pod corev1.Pod) (pid int) {
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
		if pid, err = strconv.Atoi(filepath.Base(filepath.Dir(file))); err != nil {
			t.Fatal(err)
		}
		return pid
	}
	t.Fatalf("there is no process of the container %s", id)
	return 0
}
