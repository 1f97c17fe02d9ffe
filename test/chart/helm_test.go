package chart

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/helm"
	"labhub.io/teamspace/test/program"
	"labhub.io/teamspace/test/world"
)

// drainUser is the account of the hook.
const drainUser = "system:serviceaccount:teamspace-system:teamspace-drain"

// TestHelm lets the real helm install, upgrade, roll back and uninstall the chart on a
// cluster whose webhooks are in force, with the rules and the caBundle that the manager
// has written, and with live TeamSpaces. There is no node: the processes of the sandbox
// are the manager, and the pod of the hook is played (play).
func TestHelm(t *testing.T) {
	w := world.Start(t, world.Options{ChartArchive: true})
	for i := range 3 {
		w.Serve(t, world.TeamSpace(fmt.Sprintf("live-%d", i), 2, "1"))
	}
	values := service(t, w)
	before := written(t, w)

	// What the sandbox has applied becomes the release's, and the release's alone.
	forgetSandbox(t, w)
	mustHelm(t, w, "install", append(values, "--take-ownership", "--force-conflicts", "--set=uninstall.policy=Fail")...)
	wantServed(t, w, before)
	// From here on nothing is forced.
	mustHelm(t, w, "upgrade", append(values, "--set=uninstall.policy=Fail,guard.failurePolicy=Fail,webhook.replicas=3,commonLabels.team=platform")...)
	wantServed(t, w, before)
	for _, policy := range failurePolicies(t, w) {
		if policy != admissionregistrationv1.Fail {
			t.Errorf("the upgrade has not changed the failure policy: %s", policy)
		}
	}
	mustHelm(t, w, "rollback", "1")
	wantServed(t, w, before)
	// As Helm 3 does it.
	mustHelm(t, w, "upgrade", append(values, "--server-side=false", "--set=uninstall.policy=Fail,guard.failurePolicy=Fail")...)
	wantServed(t, w, before)
	mustHelm(t, w, "upgrade", append(values, "--server-side=false", "--set=uninstall.policy=Fail")...)
	wantServed(t, w, before)

	refused := uninstall(t, w, 1)
	if refused.err == nil || !strings.Contains(refused.drain, "live-0, live-1, live-2") {
		t.Fatalf("helm uninstall with policy Fail: %v\n%s\n%s", refused.err, refused.out, refused.drain)
	}
	wantServed(t, w, before)

	// After a refusal helm believes that the release is going; a rollback makes it whole, and
	// another policy can be chosen.
	mustHelm(t, w, "rollback", revision(t, w))
	mustHelm(t, w, "upgrade", append(values, "--set=uninstall.policy=Orphan")...)
	if err := w.StopForGood(t.Context(), world.Manager); err != nil {
		t.Fatal(err)
	}
	gone := uninstall(t, w, 0)
	if gone.err != nil {
		t.Fatalf("helm uninstall: %v\n%s\n%s", gone.err, gone.out, gone.drain)
	}
	wantUninstalled(t, w)

	mustHelm(t, w, "install", values...)
	runController(t, w)
	for i := range 3 {
		w.AwaitReady(t, fmt.Sprintf("live-%d", i))
	}
}

// runController runs the controller as the account that the chart has made anew: that of
// the sandbox has gone with the release.
func runController(t *testing.T, w *world.World) {
	t.Helper()
	p, err := program.Run(manager(t), "run", "--controllers", "--kubeconfig="+w.KubeconfigAs(t, world.ManagerUser),
		"--release-namespace="+world.ReleaseNamespace, "--metrics-bind-address=0", "--health-probe-bind-address=0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	world.LogIfFailed(t, p)
}

func manager(t *testing.T) string {
	t.Helper()
	path, err := program.Find(filepath.Join(helm.Chart(t), "..", ".."), "manager")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// forgetSandbox makes the fields nobody's that the sandbox has applied for the chart.
func forgetSandbox(t *testing.T, w *world.World) {
	t.Helper()
	for _, object := range objectsOf(t, byDefault) {
		live := object.DeepCopy()
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(object), live); apierrors.IsNotFound(err) {
			continue // a Deployment, or for a hook
		} else if err != nil {
			t.Fatal(err)
		}
		others := slices.DeleteFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == "teamspace-sandbox" })
		live.SetManagedFields(others)
		if err := w.Client.Update(t.Context(), live); err != nil {
			t.Fatal(err)
		}
	}
}

// revision is the last one of the release.
func revision(t *testing.T, w *world.World) string {
	t.Helper()
	out, err := helm.Run(t, "history", "teamspace", "--namespace="+world.ReleaseNamespace, "--kubeconfig="+w.Kubeconfig(), "--max=1")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	number, _, _ := strings.Cut(lines[len(lines)-1], " ")
	if number, _, _ = strings.Cut(number, "\t"); err != nil || !strings.Contains(out, "uninstalling") {
		t.Fatalf("helm history: %v\n%s", err, out)
	}
	return number
}

func mustHelm(t *testing.T, w *world.World, verb string, args ...string) {
	t.Helper()
	all := []string{verb, "teamspace"}
	if verb != "rollback" {
		all = append(all, helm.Chart(t))
	}
	all = append(all, args...)
	out, err := helm.Run(t, append(all, "--namespace="+world.ReleaseNamespace, "--kubeconfig="+w.Kubeconfig())...)
	if err != nil {
		t.Fatalf("helm %s %q: %v\n%s", verb, args, err, out)
	}
}

// service are the values by which the Service leads to the process of the sandbox.
func service(t *testing.T, w *world.World) []string {
	t.Helper()
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: world.ReleaseNamespace, Name: "teamspace-webhook"}}
	w.Get(t, s)
	return []string{fmt.Sprintf("--set=webhook.clusterIP=%s,webhook.port=%d", s.Spec.ClusterIP, s.Spec.Ports[0].Port)}
}

// byManager is what the manager writes of a webhook.
type byManager struct {
	name     string
	caBundle string
	rules    int
}

// written is what the manager has written of all webhooks.
func written(t *testing.T, w *world.World) []byManager {
	t.Helper()
	v := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "teamspace-webhook"}}
	m := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "teamspace-webhook"}}
	w.Get(t, v)
	w.Get(t, m)
	var all []byManager
	for _, h := range v.Webhooks {
		all = append(all, byManager{h.Name, string(h.ClientConfig.CABundle), len(h.Rules)})
	}
	for _, h := range m.Webhooks {
		all = append(all, byManager{h.Name, string(h.ClientConfig.CABundle), len(h.Rules)})
	}
	for _, one := range all {
		if one.caBundle == "" || one.rules == 0 {
			t.Fatalf("webhook %s has no caBundle or no rules", one.name)
		}
	}
	return all
}

func failurePolicies(t *testing.T, w *world.World) (policies []admissionregistrationv1.FailurePolicyType) {
	t.Helper()
	v := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "teamspace-webhook"}}
	w.Get(t, v)
	for _, h := range v.Webhooks {
		if h.Name == "ownerreferences.platform.labhub.io" {
			policies = append(policies, *h.FailurePolicy)
		}
	}
	return policies
}

// wantServed: the webhooks have what the manager wrote, the guard denies, and the
// TeamSpaces are Ready.
func wantServed(t *testing.T, w *world.World, before []byManager) {
	t.Helper()
	if after := written(t, w); !slices.Equal(before, after) {
		t.Errorf("helm has changed what the manager wrote:\n%+v\n%+v", before, after)
	}
	stale := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "stale", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "kube-root-ca.crt", UID: "00000000-0000-0000-0000-000000000000"},
	}}}
	if err := w.Client.Create(t.Context(), stale, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "ownerreferences.platform.labhub.io") {
		t.Errorf("a wrong reference: %v", err)
	}
	for i := range 3 {
		w.AwaitReady(t, fmt.Sprintf("live-%d", i))
	}
}

// uninstalled is how helm ended, and what the drain said.
type uninstalled struct {
	out, drain string
	err        error
}

// uninstall runs helm, and plays the pod of its hook, which has to end with this code.
func uninstall(t *testing.T, w *world.World, wantCode int) uninstalled {
	t.Helper()
	var u uninstalled
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		u.out, u.err = helm.Run(t, "uninstall", "teamspace", "--namespace="+world.ReleaseNamespace, "--kubeconfig="+w.Kubeconfig(), "--timeout=2m")
	}()
	code, said := play(t, w)
	if code != wantCode {
		t.Errorf("the drain ended with %d, want %d:\n%s", code, wantCode, said)
	}
	select {
	case <-ended:
	case <-time.After(3 * time.Minute):
		t.Fatal("helm does not end")
	}
	u.drain = said
	return u
}

// play does what a kubelet would do with the pod of the hook's Job: it runs the program
// with the arguments and the account of the pod, and tells how it ended.
func play(t *testing.T, w *world.World) (code int, said string) {
	t.Helper()
	pod := awaitPod(t, w)
	if pod.Spec.ServiceAccountName != "teamspace-drain" {
		t.Fatalf("the pod of the hook has the account %q", pod.Spec.ServiceAccountName)
	}
	args := append(slices.Clone(pod.Spec.Containers[0].Args), "--kubeconfig="+w.KubeconfigAs(t, drainUser), "--release-namespace="+pod.Namespace)
	cmd := exec.CommandContext(t.Context(), manager(t), args...)
	out, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		t.Fatalf("running the drain: %v", err)
	}
	code = cmd.ProcessState.ExitCode()
	phase := corev1.PodSucceeded
	if code != 0 {
		phase = corev1.PodFailed
	}
	status := fmt.Sprintf(`{"status":{"phase":%q,"containerStatuses":[{"name":"drain","image":"x","imageID":"x","restartCount":0,"ready":false,`+
		`"state":{"terminated":{"exitCode":%d,"startedAt":"2030-01-01T00:00:00Z","finishedAt":"2030-01-01T00:00:01Z"}}}]}}`, phase, code)
	if err := w.Client.Status().Patch(t.Context(), pod, client.RawPatch(types.MergePatchType, []byte(status))); err != nil {
		t.Fatalf("telling how the pod ended: %v", err)
	}
	return code, string(out)
}

// awaitPod returns the pod of the Job that is there now.
func awaitPod(t *testing.T, w *world.World) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	world.Eventually(t, world.CollectorPatience, "the hook has a pod", func() error {
		job := &batchv1.Job{}
		if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: world.ReleaseNamespace, Name: "teamspace-drain"}, job); err != nil {
			return err
		}
		var pods corev1.PodList
		if err := w.Client.List(t.Context(), &pods, client.InNamespace(job.Namespace)); err != nil {
			return err
		}
		for i := range pods.Items {
			if metav1.IsControlledBy(&pods.Items[i], job) && pods.Items[i].Status.Phase == corev1.PodPending {
				*pod = pods.Items[i]
				return nil
			}
		}
		return errors.New("it has none yet")
	})
	return pod
}

// wantUninstalled: nothing of the release is left but what outlives it.
func wantUninstalled(t *testing.T, w *world.World) {
	t.Helper()
	left := w.MustKubectl(t, "get", "-A", "-o", "name", "-l", "app.kubernetes.io/instance=teamspace",
		"validatingwebhookconfigurations,mutatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings,"+
			"deployments,services,serviceaccounts,jobs,poddisruptionbudgets,clusterroles,clusterrolebindings,roles,rolebindings")
	if strings.TrimSpace(left) != "" {
		t.Errorf("there is still:\n%s", left)
	}
	kept := w.MustKubectl(t, "get", "-o", "name", "crd/"+v1alpha1.CRDName, "namespace/"+world.ArchiveNamespace)
	if strings.Count(kept, "\n") != 2 {
		t.Errorf("what outlives the release: %s", kept)
	}
	// What is made now is held by nobody.
	ts := world.TeamSpace("after", 1, "1")
	w.Create(t, ts)
	if controllerutil.ContainsFinalizer(ts, v1alpha1.Finalizer) {
		t.Errorf("a webhook is still asked: %q", ts.Finalizers)
	}
	w.Delete(t, ts)
	w.AwaitGone(t, ts)
}
