package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/helm"
	"labhub.io/teamspace/test/world"
)

// podPatience is for what a pod has to be started or stopped for.
const podPatience = 3 * time.Minute

// component is the label that tells the pods of the two Deployments apart.
const component = "app.kubernetes.io/component"

// begin makes the namespace of the release, which takes pods only that may do next to nothing,
// and has all of the release gone after the test, whatever became of it.
func begin(t *testing.T) *world.World {
	t.Helper()
	w := lab.World(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: world.ReleaseNamespace, Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest",
	}}}
	w.Create(t, ns)
	t.Cleanup(func() { wipe(context.WithoutCancel(t.Context()), t, w) })
	return w
}

// wipe brings the cluster back to what it was before the test.
func wipe(ctx context.Context, t *testing.T, w *world.World) {
	t.Helper()
	if t.Failed() {
		tell(ctx, t, w)
	}
	// While there is a controller, if there is one: without TeamSpaces no policy refuses.
	kubectl(ctx, t, w, "delete", "teamspaces", "--all", "--ignore-not-found", "--timeout=2m")
	if out, err := helm.RunWith(ctx, t, "uninstall", "teamspace", "--ignore-not-found", "--wait", "--namespace="+world.ReleaseNamespace, "--kubeconfig="+w.Kubeconfig()); err != nil {
		t.Errorf("helm uninstall: %v\n%s", err, out)
	}
	for _, name := range []string{world.ReleaseNamespace, world.ArchiveNamespace} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := client.IgnoreNotFound(w.Client.Delete(ctx, ns)); err != nil {
			t.Error(err)
		}
		awaitGone(ctx, t, w, ns)
	}
}

// kubectl changes something for the next test.
func kubectl(ctx context.Context, t *testing.T, w *world.World, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(ctx, w.Binary("kubectl"), append(args, "--kubeconfig="+w.Kubeconfig())...).CombinedOutput(); err != nil {
		t.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// tell puts what became of the pods into the log of a test that failed.
func tell(ctx context.Context, t *testing.T, w *world.World) {
	t.Helper()
	var pods corev1.PodList
	if err := w.Client.List(ctx, &pods, client.InNamespace(world.ReleaseNamespace)); err != nil {
		t.Log(err)
	}
	for _, pod := range pods.Items {
		t.Logf("pod %s is %s", pod.Name, pod.Status.Phase)
		for _, c := range pod.Status.ContainerStatuses {
			t.Logf("    container %s: ready %t, started again %d times, waits for %+v", c.Name, c.Ready, c.RestartCount, c.State.Waiting)
		}
	}
}

func awaitGone(ctx context.Context, t *testing.T, w *world.World, object client.Object) {
	t.Helper()
	world.Eventually(t, podPatience, object.GetName()+" is gone", func() error {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
}

// try runs a verb of helm on the release.
func try(t *testing.T, w *world.World, verb string, args ...string) (string, error) {
	t.Helper()
	all := []string{verb, "teamspace"}
	if verb == "install" || verb == "upgrade" {
		all = append(all, helm.Chart(t), "--wait", "--timeout=4m", "--set="+ports(t, w))
	}
	return helm.Run(t, append(append(all, "--namespace="+world.ReleaseNamespace, "--kubeconfig="+w.Kubeconfig()), args...)...)
}

// must is try that has to succeed.
func must(t *testing.T, w *world.World, verb string, args ...string) string {
	t.Helper()
	out, err := try(t, w, verb, args...)
	if err != nil {
		t.Fatalf("helm %s %q: %v\n%s", verb, args, err, out)
	}
	return out
}

// ports are the values that turn on the NetworkPolicies, for where this API server listens.
func ports(t *testing.T, w *world.World) string {
	t.Helper()
	address, err := url.Parse(w.Admin.Host)
	if err != nil {
		t.Fatal(err)
	}
	return "networkPolicy.enabled=true,networkPolicy.apiServerPorts={443," + address.Port() + "}"
}

// pods are those of one of the Deployments that are not on their way out.
func pods(t *testing.T, w *world.World, of string) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := w.Client.List(t.Context(), &list, client.InNamespace(world.ReleaseNamespace), client.MatchingLabels{component: of}); err != nil {
		t.Fatal(err)
	}
	var there []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			there = append(there, pod)
		}
	}
	return there
}

// replicas is how many pods each Deployment has by default.
const replicas = 2

// awaitPods waits until all pods of a Deployment are ready, and no others are there.
func awaitPods(t *testing.T, w *world.World, of string) {
	t.Helper()
	world.Eventually(t, podPatience, of+" has its pods", func() error {
		all := pods(t, w, of)
		ready := 0
		for _, pod := range all {
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		if len(all) != replicas || ready != replicas {
			return fmt.Errorf("%d pods, %d ready, want %d", len(all), ready, replicas)
		}
		return nil
	})
}

// inARow is how many requests in a row have to be answered before the webhooks' new pods count as
// reached: some may be answered by a pod that was deleted, over a connection that it is closing.
const inARow = 20

// awaitReached waits until the API server reaches the new pods, which the node has to learn of.
func awaitReached(t *testing.T, w *world.World) {
	t.Helper()
	world.Eventually(t, podPatience, "the webhooks' pods are reached", func() error {
		for range inARow {
			if answer := w.KubectlWith(t, wrong, "create", "--dry-run=server", "-f", "-"); !denied(answer) {
				return fmt.Errorf("exit code %d: %s", answer.Code, answer.Out)
			}
		}
		return nil
	})
}

// denied: it is the guard that has denied, and not the API server because it reached nobody.
func denied(answer world.Answer) bool {
	return answer.Code != 0 && strings.Contains(answer.Out, "ownerreferences.platform.labhub.io") && strings.Contains(answer.Out, "garbage collector")
}

// wrong is a ConfigMap whose owner is not there.
const wrong = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"wrong","namespace":"default","ownerReferences":[` +
	`{"apiVersion":"v1","kind":"ConfigMap","name":"absent","uid":"00000000-0000-0000-0000-000000000000"}]}}`

// wantDenied: kubectl is denied a wrong reference, in the guard's words.
func wantDenied(t *testing.T, w *world.World) {
	t.Helper()
	answer := w.KubectlWith(t, wrong, "create", "--dry-run=server", "-f", "-")
	if !denied(answer) {
		t.Errorf("a wrong reference: exit code %d\n%s", answer.Code, answer.Out)
	}
}

// wantNothingLeft: nothing of the release is there but what outlives it, and nothing is held.
func wantNothingLeft(t *testing.T, w *world.World) {
	t.Helper()
	left := w.MustKubectl(t, "get", "-A", "-o", "name", "-l", "app.kubernetes.io/instance=teamspace",
		"validatingwebhookconfigurations,mutatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings,"+
			"deployments,services,serviceaccounts,jobs,poddisruptionbudgets,networkpolicies,clusterroles,clusterrolebindings,roles,rolebindings")
	if strings.TrimSpace(left) != "" {
		t.Errorf("there is still:\n%s", left)
	}
	var all v1alpha1.TeamSpaceList
	if err := w.Client.List(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, ts := range all.Items {
		if ts.DeletionTimestamp != nil || len(ts.Finalizers) > 0 {
			t.Errorf("TeamSpace %q has the finalizers %q and the deletionTimestamp %v", ts.Name, ts.Finalizers, ts.DeletionTimestamp)
		}
	}
}
