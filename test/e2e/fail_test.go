package e2e

import (
	"testing"

	"labhub.io/teamspace/test/world"
)

// TestFailurePolicyFail: where the API server refuses what no webhook has judged, nobody has to
// help what was down up again.
func TestFailurePolicyFail(t *testing.T) {
	w := begin(t)
	must(t, w, "install", brief, "--set=guard.failurePolicy=Fail")
	w.AwaitServing(t)
	t.Run("all pods are deleted", func(t *testing.T) { deletePods(t, w) })
	t.Run("the cluster is stopped and started", func(t *testing.T) { stopAndStart(t, w) })
}

// deletePods: the webhooks cannot keep their own pods from coming back, and what they would judge
// is refused until they do.
func deletePods(t *testing.T, w *world.World) {
	gone := containers(t, w)
	w.MustKubectl(t, "-n", world.ReleaseNamespace, "delete", "pods", "-l", component+"=webhook", "--force", "--grace-period=0")
	if answer := w.KubectlWith(t, wrong, "create", "--dry-run=server", "-f", "-"); answer.Code == 0 {
		t.Errorf("with no webhook a wrong reference was let in:\n%s", answer.Out)
	}
	awaitPods(t, w, "webhook")
	for _, pod := range pods(t, w, "webhook") {
		if gone[pod.Name] != "" {
			t.Errorf("pod %s was not deleted: the test shows nothing", pod.Name)
		}
	}
	awaitReached(t, w)
	during(t, w, "all pods are back", func() { w.Serve(t, world.TeamSpace("after", 1, "1")) })
}

// stopAndStart: it is the same pods that come back, and what was served before is served.
func stopAndStart(t *testing.T, w *world.World) {
	uids := populate(t, w, 1)
	before := containers(t, w)

	w.StopAndStart(t)

	awaitReached(t, w)
	for _, of := range []string{"controller", "webhook"} {
		awaitPods(t, w, of)
	}
	after := containers(t, w)
	for name, id := range before {
		if after[name] == "" || after[name] == id {
			t.Errorf("pod %s had the container %s and has %q: want the pod, and another container", name, id, after[name])
		}
	}
	wantAdopted(t, w, uids)
	w.Serve(t, world.TeamSpace("after-restart", 1, "1"))
	mustTest(t, w)
}

// containers are the ids of those that the pods of the release have, by pod.
func containers(t *testing.T, w *world.World) map[string]string {
	t.Helper()
	ids := map[string]string{}
	for _, of := range []string{"controller", "webhook"} {
		for _, pod := range pods(t, w, of) {
			for _, c := range pod.Status.ContainerStatuses {
				ids[pod.Name] = c.ContainerID
			}
		}
	}
	return ids
}
