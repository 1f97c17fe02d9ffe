package admission

import (
	"errors"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/world"
)

// TestColdStart: a whole cluster starts with the webhooks in force and nobody there to
// answer them. What a cluster needs to come up goes through with either failure policy.
func TestColdStart(t *testing.T) {
	w := begin(t)
	r := alone(t, w)
	r.Stop(t)
	if err := inForce(t, w); err != nil {
		t.Fatal(err)
	}
	for _, c := range []world.Component{world.ControllerManager, world.APIServer, world.Etcd} {
		w.Stop(t, c)
	}
	for _, c := range []world.Component{world.Etcd, world.APIServer, world.ControllerManager} {
		w.Start(t, c)
	}
	owner := theOwner(t, w)
	t.Run("Fail", func(t *testing.T) {
		err := w.Client.Create(t.Context(), dependent("asked", owner), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
			t.Errorf("a write that is asked about: %v", err)
		}
		comesUp(t, w, "cold-fail", owner)
	})
	t.Run("Ignore", func(t *testing.T) {
		policy := func(policy string) {
			v := validating(t, w)
			v.Webhooks[0].FailurePolicy = new(admissionregistrationv1.FailurePolicyType(policy))
			if err := w.Client.Update(t.Context(), v); err != nil {
				t.Fatal(err)
			}
		}
		policy("Ignore")
		defer policy("Fail")
		world.Eventually(t, world.Patience, "what nobody judges passes", func() error {
			return w.Client.Create(t.Context(), stale(owner), client.DryRunAll)
		})
		comesUp(t, w, "cold-ignore", owner)
	})
}

// comesUp does what a cluster does when it starts.
func comesUp(t *testing.T, w *world.World, name string, owner *corev1.ConfigMap) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.Create(t, node)
	kubelet := w.As(t, "system:node:"+name, "system:nodes", "system:authenticated")
	ofNode := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: node.UID}}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: name, OwnerReferences: ofNode}}
	world.Eventually(t, world.Patience, "the kubelet writes its Lease", func() error { return kubelet.Create(t.Context(), lease) })
	if err := kubelet.Status().Patch(t.Context(), node, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"nodeInfo":{"bootID":"1"}}}`))); err != nil {
		t.Errorf("the kubelet writes its status: %v", err)
	}

	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.Create(t, ns)
	labels := map[string]string{"app": name}
	w.Create(t, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "none", Image: "none"}}},
		}},
	})
	world.Eventually(t, world.CollectorPatience, "the controllers make a Pod", func() error {
		var pods corev1.PodList
		if err := w.Client.List(t.Context(), &pods, client.InNamespace(name)); err != nil {
			return err
		}
		if len(pods.Items) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	for _, exempt := range []string{"kube-system", "kube-node-lease", world.ReleaseNamespace} {
		c := dependent(name, owner)
		c.Namespace = exempt
		if err := w.Client.Create(t.Context(), c, client.DryRunAll); err != nil {
			t.Errorf("%s: %v", exempt, err)
		}
	}
	w.Delete(t, ns)
	w.AwaitGone(t, ns)
}
