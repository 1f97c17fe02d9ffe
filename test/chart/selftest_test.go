package chart

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"labhub.io/teamspace/test/world"
)

// testUser is the account of `helm test`.
const testUser = "system:serviceaccount:teamspace-system:teamspace-test"

// TestSelftest runs what `helm test` runs, with the arguments and the permissions of its
// pod: it passes while the webhooks answer, and fails while they do not.
func TestSelftest(t *testing.T) {
	w := lab.World(t)
	installTest(t, w)
	var args []string
	for _, pod := range podsOf(t, objectsOf(t, byDefault)) {
		if pod.Name == "teamspace-test" {
			args = pod.Spec.Containers[0].Args
		}
	}
	out, err := selftest(t, w, args)
	if err != nil || !strings.Contains(out, "was let in, and got the finalizer") || !strings.Contains(out, `"ownerreferences.platform.labhub.io" denied the request`) {
		t.Errorf("selftest %q: %v\n%s", args, err, out)
	}
	if left := w.MustKubectl(t, "get", "teamspaces", "-o", "name"); left != "" {
		t.Errorf("it has left something behind: %s", left)
	}
	w.Stop(t, world.Manager)
	if out, err = selftest(t, w, append(args, "--timeout=3s")); err == nil || !strings.Contains(out, "no webhook was asked") {
		t.Errorf("with no webhook: %v\n%s", err, out)
	}
}

// installTest makes the account of `helm test` for one test.
func installTest(t *testing.T, w *world.World) {
	t.Helper()
	for _, object := range objectsOf(t, byDefault) {
		switch object.GetAnnotations()["helm.sh/hook"] + " " + object.GetKind() {
		case "test ServiceAccount", "test ClusterRole", "test ClusterRoleBinding":
			w.Create(t, object)
			t.Cleanup(func() {
				if err := w.Client.Delete(context.WithoutCancel(t.Context()), object); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func selftest(t *testing.T, w *world.World, args []string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), manager(t), append(args, "--kubeconfig="+w.KubeconfigAs(t, testUser))...).CombinedOutput()
	return string(out), err
}
