package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
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

// begin makes the namespace of the release, and has all of the release gone after the test,
// whatever became of it.
func begin(t *testing.T) *world.World {
	t.Helper()
	w := lab.World(t)
	makeNamespace(t, w)
	t.Cleanup(func() { wipe(context.WithoutCancel(t.Context()), t, w) })
	return w
}

// makeNamespace makes that of the release, which takes pods only that may do next to nothing.
func makeNamespace(t *testing.T, w *world.World) {
	t.Helper()
	w.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: world.ReleaseNamespace, Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest",
	}}})
}

// wipe brings the cluster back to what it was before the test, whatever the test has left: by
// hand, since there may be no release any more.
func wipe(ctx context.Context, t *testing.T, w *world.World) {
	t.Helper()
	if t.Failed() {
		tell(ctx, t, w)
	}
	if out, err := drainCommand(ctx, w, "Delete").CombinedOutput(); err != nil {
		t.Errorf("manager drain: %v\n%s", err, out)
	}
	if out, err := helm.Four.Run(ctx, t, "uninstall", "teamspace", "--no-hooks", "--ignore-not-found", "--namespace="+world.ReleaseNamespace, "--kubeconfig="+w.Kubeconfig()); err != nil {
		t.Errorf("helm uninstall: %v\n%s", err, out)
	}
	// Nobody asks them any more, and so nobody has to wait until they have answered all.
	kubectl(ctx, t, w, "delete", "pods", "--all", "--namespace="+world.ReleaseNamespace, "--force", "--grace-period=0")
	remove(ctx, t, w,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: world.ReleaseNamespace}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: world.ArchiveNamespace}})
}

// remove deletes objects that are there, and waits until all are gone.
func remove(ctx context.Context, t *testing.T, w *world.World, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := client.IgnoreNotFound(w.Client.Delete(ctx, object)); err != nil {
			t.Error(err)
		}
	}
	for _, object := range objects {
		awaitGone(ctx, t, w, object)
	}
}

// drainCommand is what an administrator runs by hand.
func drainCommand(ctx context.Context, w *world.World, policy string) *exec.Cmd {
	return exec.CommandContext(ctx, w.Binary("manager"), "drain", "--policy="+policy, "--kubeconfig="+w.Kubeconfig(),
		"--release-namespace="+world.ReleaseNamespace, "--archive=configmap://"+world.ArchiveNamespace, "--timeout=2m")
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

// brief, as a flag of helm, has the webhooks stop at once where nobody asks them meanwhile.
const brief = "--set=webhook.lameDuck=0s"

// try runs a verb of helm on the release.
func try(t *testing.T, w *world.World, verb string, args ...string) (string, error) {
	t.Helper()
	return helm.Four.Run(t.Context(), t, command(t, w, verb, helm.Chart(t), args...)...)
}

// command is a verb of helm with all that it needs to be done to the release with this chart.
func command(t *testing.T, w *world.World, verb, chart string, args ...string) []string {
	t.Helper()
	all := []string{verb, "teamspace"}
	switch verb {
	case "install", "upgrade":
		all = append(all, chart, "--wait", "--timeout=4m", "--set="+ports(t, w))
	case "rollback":
		all = append(all, "--wait", "--timeout=4m")
	}
	return append(append(all, "--namespace="+world.ReleaseNamespace, "--kubeconfig="+w.Kubeconfig()), args...)
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
			if err := tryWrong(t, w); err == nil || !guards(err.Error()) {
				return errors.Join(errors.New("the guard has not denied a wrong reference"), err)
			}
		}
		return nil
	})
}

// tryWrong is how the API server answers to a wrong reference.
func tryWrong(t *testing.T, w *world.World) error {
	t.Helper()
	object := &corev1.ConfigMap{}
	if err := json.Unmarshal([]byte(wrong), object); err != nil {
		t.Fatal(err)
	}
	return w.Client.Create(t.Context(), object, client.DryRunAll)
}

// guards: it is the guard that has denied, and not the API server because it reached nobody.
func guards(answer string) bool {
	return strings.Contains(answer, "ownerreferences.platform.labhub.io") && strings.Contains(answer, "garbage collector")
}

// wrong is a ConfigMap whose owner is not there.
const wrong = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"wrong","namespace":"default","ownerReferences":[` +
	`{"apiVersion":"v1","kind":"ConfigMap","name":"absent","uid":"00000000-0000-0000-0000-000000000000"}]}}`

// wantDenied: kubectl is denied a wrong reference, in the guard's words.
func wantDenied(t *testing.T, w *world.World) {
	t.Helper()
	answer := w.KubectlWith(t, wrong, "create", "--dry-run=server", "-f", "-")
	if answer.Code == 0 || !guards(answer.Out) {
		t.Errorf("a wrong reference: exit code %d\n%s", answer.Code, answer.Out)
	}
}

// judges are the kinds of what judges requests.
const judges = "validatingwebhookconfigurations,mutatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings"

// wantNothingLeft: nothing of the release is there but what outlives it, and nothing is held.
func wantNothingLeft(t *testing.T, w *world.World) {
	t.Helper()
	wantNone(t, w, judges+",deployments,services,serviceaccounts,jobs,poddisruptionbudgets,networkpolicies,clusterroles,clusterrolebindings,roles,rolebindings")
	wantNothingHeld(t, w)
}

// wantNone: there is nothing of the release of these kinds.
func wantNone(t *testing.T, w *world.World, kinds string) {
	t.Helper()
	left := w.MustKubectl(t, "get", "-A", "-o", "name", "-l", "app.kubernetes.io/instance=teamspace", kinds)
	if strings.TrimSpace(left) != "" {
		t.Errorf("there is still:\n%s", left)
	}
}

// wantNothingHeld: no TeamSpace waits for us to go, or would if it were to.
func wantNothingHeld(t *testing.T, w *world.World) {
	t.Helper()
	for _, ts := range teamSpaces(t, w) {
		if ts.DeletionTimestamp != nil || len(ts.Finalizers) > 0 {
			t.Errorf("TeamSpace %q has the finalizers %q and the deletionTimestamp %v", ts.Name, ts.Finalizers, ts.DeletionTimestamp)
		}
	}
}

// teamSpaces are all that there are: none where there is no such type.
func teamSpaces(t *testing.T, w *world.World) []v1alpha1.TeamSpace {
	t.Helper()
	var all v1alpha1.TeamSpaceList
	if err := w.Client.List(t.Context(), &all); err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return all.Items
}
