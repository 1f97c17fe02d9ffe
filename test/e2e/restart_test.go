package e2e

import (
	"testing"

	"labhub.io/teamspace/test/world"
)

// TestClusterRestarted: a whole cluster is stopped and started while the API server refuses what
// no webhook has judged. Nobody has to help it up.
func TestClusterRestarted(t *testing.T) {
	w := begin(t)
	must(t, w, "install", brief, "--set=guard.failurePolicy=Fail")
	w.AwaitServing(t)
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
