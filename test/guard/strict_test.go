package guard

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/world"
)

// TestStrict has a world of its own, the least kind one: what the guard was asked about
// and did not judge is refused, all controllers of Kubernetes are one user, and who sets
// blockOwnerDeletion needs a permission for it. What passes there while no manager runs
// was not asked about.
func TestStrict(t *testing.T) {
	w := world.Start(t, world.Options{Flags: []string{
		"--set=guard.failurePolicy=Fail",
		"--set=controller.ownerReferencesPermissionEnforcement=true",
		"--controller-manager-flag=use-service-account-credentials=false",
		"--apiserver-flag=enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement",
	}})
	if err := prepare(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	t.Run("collector", func(t *testing.T) { collectorFinds(t, w, "strict") })
	t.Run("a TeamSpace is served", func(t *testing.T) { w.Serve(t, world.TeamSpace("strict", 2, "1")) })
	t.Run("C13 blockOwnerDeletion", func(t *testing.T) { permissionPlugin(t, w) })
	t.Run("the controller needs to set blockOwnerDeletion", func(t *testing.T) { finalizersNeeded(t, w) })
	t.Run("the controller needs to be able to delete what it adopts", func(t *testing.T) { deletionNeeded(t, w) })
	t.Run("dead", func(t *testing.T) {
		away := newAway(t, w)
		w.Stop(t, world.Manager)
		for name, check := range map[string]func(*testing.T){
			"C36 C48 routine":          away.routine,
			"C37 built-in controllers": away.controllers,
			"C37 left out":             away.leftOut,
			"C38 being deleted":        away.deletingGoes,
			"C39 the collector":        away.collectorWrites,
			"C40 C41 a namespace":      away.namespaceGoes,
			"the policies hold":        away.policies,
		} {
			t.Run(name, check)
		}
	})
	w.AwaitServing(t)
	t.Run("the type goes", func(t *testing.T) { typeGoes(t, w) })
}

// permissionPlugin is case C13: the API server's own plugin is there first, and its
// answer is not mistaken for the guard's.
func permissionPlugin(t *testing.T, w *world.World) {
	ns := namespace(t, w, "permission")
	alpha := site(t, w, ns, "alpha")
	allow(t, w, "blocker", ns, rule("", []string{"configmaps"}, "*"))
	c := w.As(t, "blocker", authenticated)
	await(t, "permissions count", func() error { return c.Create(t.Context(), configMap(ns, "probe"), client.DryRunAll) })
	ref := reference(alpha, "Site")
	if err := c.Create(t.Context(), configMap(ns, "loose", ref)); err != nil {
		t.Error(err)
	}
	ref.BlockOwnerDeletion = new(true)
	wantRefused(t, c.Create(t.Context(), configMap(ns, "blocks", ref)), "cannot set blockOwnerDeletion")
}

// away is what is there when the manager goes.
type away struct {
	w        *world.World
	ns       string
	owned    *corev1.ConfigMap // by two owners, one of which is away
	deleting *corev1.ConfigMap
	lease    *coordinationv1.Lease // whose owner nobody knows
	all      []routine
}

func newAway(t *testing.T, w *world.World) *away {
	t.Helper()
	a := &away{w: w, ns: namespace(t, w, "away"), all: routines(t, w)}
	alpha, beta := site(t, w, a.ns, "alpha"), site(t, w, a.ns, "beta")
	a.owned = configMap(a.ns, "owned", reference(alpha, "Site"), reference(beta, "Site"))
	a.deleting = configMap(a.ns, "deleting", reference(alpha, "Site"))
	a.deleting.Finalizers = []string{"acme.example/hold"}
	unknown := metav1.OwnerReference{APIVersion: "other.example/v1", Kind: "Thing", Name: "x", UID: staleUID}
	a.lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: a.ns, Name: "lease", OwnerReferences: []metav1.OwnerReference{unknown}}}
	w.Create(t, a.owned, a.deleting, a.lease)
	w.Delete(t, a.deleting)
	return a
}

// guarded checks that a write is asked about: it cannot be, and is refused.
func guarded(t *testing.T, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), `failed calling webhook "ownerreferences.platform.labhub.io"`) {
		t.Errorf("got %v, want a webhook that does not answer", err)
	}
}

// routine: what happens all the time goes on: of a node whatever it writes (P02), and of
// anybody what changes no reference, however wrong that is (P01).
func (a *away) routine(t *testing.T) {
	guarded(t, a.w.Client.Create(t.Context(), configMap(a.ns, "asked", ghost())))
	for _, r := range a.all {
		if err := r.write(t.Context(), 1); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "routine"}}
	a.w.Get(t, node)
	a.w.Delete(t, node.DeepCopy())
	a.w.Create(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "routine"}})
	stale := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "routine", UID: node.UID}
	kubelet := a.user(t, "system:node:routine", "system:nodes")
	if err := kubelet.Create(t.Context(), configMap(a.ns, "of-a-node", stale)); err != nil {
		t.Errorf("a node is asked about: %v", err)
	}
	a.w.Patch(t, a.lease, `{"spec":{"leaseTransitions":7}}`)
}

// user returns a client of one who may do everything, without being an administrator by
// group.
func (a *away) user(t *testing.T, name string, groups ...string) client.Client {
	t.Helper()
	allow(t, a.w, name, "", rule("*", []string{"*"}, "*"))
	c := a.w.As(t, name, append(groups, authenticated)...)
	await(t, name+" is allowed to", func() error { return c.Create(t.Context(), configMap(a.ns, "probe"), client.DryRunAll) })
	return c
}

// controllers: a Deployment gets its ReplicaSet and that its Pod, and so does one whose
// controllers have service accounts of their own.
func (a *away) controllers(t *testing.T) {
	labels := map[string]string{"app": "away"}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "none", Image: "none"}}},
	}
	a.w.Create(t, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.ns, Name: "away"},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	})
	world.Eventually(t, world.Patience, "the Deployment has a Pod", func() error {
		var pods corev1.PodList
		if err := a.w.Client.List(t.Context(), &pods, client.InNamespace(a.ns), client.MatchingLabels(labels)); err != nil {
			return err
		}
		if len(pods.Items) == 0 {
			return errors.New("it has none")
		}
		return nil
	})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a.ns, Name: "by-account", OwnerReferences: a.owned.OwnerReferences}, Spec: template.Spec}
	account := a.user(t, "system:serviceaccount:kube-system:replicaset-controller")
	if err := account.Create(t.Context(), pod); err != nil {
		t.Errorf("the ReplicaSet controller: %v", err)
	}
	stranger := a.user(t, "system:serviceaccount:"+a.ns+":replicaset-controller")
	pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a.ns, Name: "by-stranger", OwnerReferences: a.owned.OwnerReferences}, Spec: template.Spec}
	guarded(t, stranger.Create(t.Context(), pod))
}

// leftOut: the namespaces without which a cluster does not start are not guarded.
func (a *away) leftOut(t *testing.T) {
	for _, ns := range []string{"kube-system", "kube-node-lease", world.ReleaseNamespace} {
		if err := a.w.Client.Create(t.Context(), configMap(ns, "left-out", ghost()), client.DryRunAll); err != nil {
			t.Errorf("%s: %v", ns, err)
		}
	}
}

// deletingGoes: whatever an object refers to, its finalizers can be taken off (P08).
func (a *away) deletingGoes(t *testing.T) {
	change, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": nil, "ownerReferences": []metav1.OwnerReference{ghost()}}})
	if err != nil {
		t.Fatal(err)
	}
	a.w.Patch(t, a.deleting, string(change))
	a.w.AwaitGone(t, a.deleting)
}

// collectorWrites: it takes a reference away under both of its names, whatever the object
// refers to besides.
func (a *away) collectorWrites(t *testing.T) {
	change, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": a.owned.OwnerReferences[:1]}})
	if err != nil {
		t.Fatal(err)
	}
	patch := mergePatch(string(change))
	guarded(t, a.w.Client.Patch(t.Context(), a.owned.DeepCopy(), patch, client.DryRunAll))
	for _, name := range []string{"system:serviceaccount:kube-system:generic-garbage-collector", "system:kube-controller-manager"} {
		if err := a.user(t, name).Patch(t.Context(), a.owned.DeepCopy(), patch, client.DryRunAll); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// namespaceGoes: nobody is asked about a DELETE.
func (a *away) namespaceGoes(t *testing.T) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "away-going"}}
	a.w.Create(t, ns, configMap(ns.Name, "in-it"), owner(ns.Name, "in-it"))
	a.w.Delete(t, ns)
	a.w.AwaitGone(t, ns)
}

// policies: they run in the API server.
func (a *away) policies(t *testing.T) {
	wantRefused(t, a.w.Client.Delete(t.Context(), world.TeamNamespace("strict")), policy, "delete the TeamSpace instead")
	labelled := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "labelled", Labels: map[string]string{"platform.labhub.io/teamspace": "strict"}}}
	wantRefused(t, a.w.Client.Create(t.Context(), labelled), policy, "the label")
}
