package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

const policy = "ValidatingAdmissionPolicy 'namespaces.platform.labhub.io'"

// tenant may do everything with namespaces, and nothing with TeamSpaces.
func tenant(t *testing.T, w *world.World, name string, more ...rbacv1.PolicyRule) client.Client {
	t.Helper()
	allow(t, w, name, "", append(more, rule("", []string{"namespaces", "namespaces/status", "namespaces/finalize"}, "*"))...)
	c := w.As(t, name, authenticated)
	await(t, "permissions count", func() error {
		return c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, client.DryRunAll)
	})
	return c
}

// TestPolicy_TeamNamespace: who may edit namespaces may not take that of a team.
func TestPolicy_TeamNamespace(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	w.Serve(t, world.TeamSpace("guarded", 2, "1"))
	c := tenant(t, w, "namespace-editor")
	ns := world.TeamNamespace("guarded")
	w.Get(t, ns)
	refs, err := json.Marshal(ns.OwnerReferences)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ change, want string }{
		"the label changed":              {`{"metadata":{"labels":{"platform.labhub.io/teamspace":"other"}}}`, "the label"},
		"the label removed":              {`{"metadata":{"labels":{"platform.labhub.io/teamspace":null}}}`, "the label"},
		"the reference removed":          {`{"metadata":{"ownerReferences":null}}`, "owner references to a TeamSpace"},
		"the adopt annotation":           {`{"metadata":{"annotations":{"platform.labhub.io/adopt":"guarded"}}}`, `the verb "adopt"`},
		"a finalizer beside a reference": {`{"metadata":{"ownerReferences":[],"finalizers":["x.example/y"]}}`, "owner references to a TeamSpace"},
	} {
		for _, write := range []func(client.Object, client.Patch) error{
			func(o client.Object, p client.Patch) error { return c.Patch(t.Context(), o, p) },
			func(o client.Object, p client.Patch) error { return c.Status().Patch(t.Context(), o, p) },
		} {
			if err := write(world.TeamNamespace("guarded"), mergePatch(tc.change)); err == nil {
				t.Errorf("%s: accepted", name)
			} else {
				wantRefused(t, err, policy, tc.want)
			}
		}
	}
	finalized := ns.DeepCopy()
	finalized.OwnerReferences = nil
	wantRefused(t, c.SubResource("finalize").Update(t.Context(), finalized), policy)
	wantRefused(t, c.Delete(t.Context(), world.TeamNamespace("guarded")), policy, "delete the TeamSpace instead")
	wantRefused(t, w.Client.Delete(t.Context(), world.TeamNamespace("guarded")), policy, "delete the TeamSpace instead")
	if err := c.Patch(t.Context(), world.TeamNamespace("guarded"), mergePatch(`{"metadata":{"labels":{"x.example/mine":"1"},"annotations":{"x.example/mine":"1"}}}`)); err != nil {
		t.Errorf("a label of the tenant's own: %v", err)
	}
	now := world.TeamNamespace("guarded")
	w.Get(t, now)
	if got, err := json.Marshal(now.OwnerReferences); err != nil || string(got) != string(refs) || now.Labels["platform.labhub.io/teamspace"] != "guarded" {
		t.Errorf("references %s, labels %v, %v", got, now.Labels, err)
	}
}

// TestPolicy_BreakGlass: in an emergency the namespace can be deleted, and is made again.
func TestPolicy_BreakGlass(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	w.Serve(t, world.TeamSpace("burning", 2, "1"))
	ns := world.TeamNamespace("burning")
	w.Get(t, ns)
	before := ns.UID
	c := tenant(t, w, "firefighter")
	for _, value := range []string{"false", "yes", ""} {
		ns.Annotations = map[string]string{"platform.labhub.io/allow-delete": value}
		if err := c.Update(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
		wantRefused(t, c.Delete(t.Context(), world.TeamNamespace("burning")), policy)
	}
	ns.Annotations["platform.labhub.io/allow-delete"] = "true"
	if err := errors.Join(c.Update(t.Context(), ns), c.Delete(t.Context(), ns)); err != nil {
		t.Fatal(err)
	}
	world.Eventually(t, world.CollectorPatience, "the namespace is made again", func() error {
		again := world.TeamNamespace("burning")
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(again), again); err != nil {
			return err
		}
		if again.UID == before {
			return fmt.Errorf("it is the old one, deleted at %v", again.DeletionTimestamp)
		}
		return nil
	})
	wantRefused(t, w.Client.Delete(t.Context(), world.TeamNamespace("burning")), policy)
}

// TestPolicy_LooksLikeATeams: nobody makes a namespace that looks like a team's.
func TestPolicy_LooksLikeATeams(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ts := world.TeamSpace("original", 2, "1")
	w.Serve(t, ts)
	c := tenant(t, w, "impostor")
	ref := metav1.OwnerReference{APIVersion: "platform.labhub.io/v1alpha1", Kind: "TeamSpace", Name: ts.Name, UID: ts.UID}
	lower, controlling := ref, ref
	lower.Kind, controlling.Controller = "teamspace", new(true)
	w.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "impostor-there"}})
	for name, ns := range map[string]*corev1.Namespace{
		"by label":              {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"platform.labhub.io/teamspace": "original"}}},
		"by an empty label":     {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"platform.labhub.io/teamspace": ""}}},
		"by reference":          {ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{ref}}},
		"in lower case":         {ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{lower}}},
		"as controller":         {ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{controlling}}},
		"by adopt annotation":   {ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"platform.labhub.io/adopt": "original"}}},
		"label and annotation":  {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"platform.labhub.io/teamspace": "original"}, Annotations: map[string]string{"platform.labhub.io/adopt": "original"}}},
		"an annotation of none": {ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"platform.labhub.io/adopt": ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			change, err := json.Marshal(map[string]any{"metadata": ns.ObjectMeta})
			if err != nil {
				t.Fatal(err)
			}
			there := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "impostor-there"}}
			wantRefused(t, c.Patch(t.Context(), there, mergePatch(string(change))), policy)
			ns.GenerateName = "impostor-"
			wantRefused(t, c.Create(t.Context(), ns), policy)
		})
	}
}

// TestPolicy_Adopt: the verb on the very TeamSpace is what it takes to hand a namespace
// over, and then the controller takes it, consumes the annotation and sets the label.
func TestPolicy_Adopt(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	w.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-adopted"}})
	w.Create(t, world.TeamSpace("adopted", 2, "1"))
	w.AwaitCondition(t, "adopted", "Stalled", metav1.ConditionTrue, "NamespaceConflict")
	verb := rule("platform.labhub.io", []string{"teamspaces"}, "adopt")
	verb.ResourceNames = []string{"adopted"}
	c := tenant(t, w, "adopter", verb)
	wantRefused(t, c.Patch(t.Context(), world.TeamNamespace("adopted"), mergePatch(`{"metadata":{"annotations":{"platform.labhub.io/adopt":"other"}}}`)), policy, `the verb "adopt"`)
	if err := c.Patch(t.Context(), world.TeamNamespace("adopted"), mergePatch(`{"metadata":{"annotations":{"platform.labhub.io/adopt":"adopted"}}}`)); err != nil {
		t.Fatal(err)
	}
	w.AwaitReady(t, "adopted")
	ns := world.TeamNamespace("adopted")
	w.Get(t, ns)
	if _, left := ns.Annotations["platform.labhub.io/adopt"]; left || ns.Labels["platform.labhub.io/teamspace"] != "adopted" {
		t.Errorf("labels %v, annotations %v", ns.Labels, ns.Annotations)
	}
	// A restore brings label and annotation, and no reference.
	w.Delete(t, world.TeamSpace("adopted", 2, "1"))
	w.AwaitGone(t, world.TeamNamespace("adopted"))
	restored := world.TeamNamespace("adopted")
	restored.Labels = map[string]string{"platform.labhub.io/teamspace": "adopted"}
	wantRefused(t, c.Create(t.Context(), restored.DeepCopy()), policy, "the label")
	restored.Annotations = map[string]string{"platform.labhub.io/adopt": "adopted"}
	if err := c.Create(t.Context(), restored); err != nil {
		t.Fatal(err)
	}
	w.Serve(t, world.TeamSpace("adopted", 2, "1"))
}

// TestPolicy_Orphaned: a namespace without a reference is anybody's to delete who may
// delete namespaces.
func TestPolicy_Orphaned(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	w.Serve(t, world.TeamSpace("orphaned", 2, "1"))
	c := tenant(t, w, "sweeper")
	if err := w.Client.Delete(t.Context(), world.TeamSpace("orphaned", 2, "1"), client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		t.Fatal(err)
	}
	w.AwaitGone(t, world.TeamSpace("orphaned", 2, "1"))
	ns := world.TeamNamespace("orphaned")
	w.Get(t, ns)
	if len(ns.OwnerReferences) != 0 || ns.DeletionTimestamp != nil {
		t.Fatalf("references %v, deleted at %v", ns.OwnerReferences, ns.DeletionTimestamp)
	}
	if err := c.Delete(t.Context(), ns); err != nil {
		t.Error(err)
	}
}

// TestPolicy_WebhookConfigurations is row D6: no webhook sees these, a policy does.
func TestPolicy_WebhookConfigurations(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	for kind, make := range map[string]func(metav1.ObjectMeta) client.Object{
		"validating": func(m metav1.ObjectMeta) client.Object {
			return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: m}
		},
		"mutating": func(m metav1.ObjectMeta) client.Object {
			return &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: m}
		},
	} {
		name := "owned-" + kind
		refuse := func(apiVersion, ownerKind string) {
			ref := metav1.OwnerReference{APIVersion: apiVersion, Kind: ownerKind, Name: "x", UID: staleUID}
			object := make(metav1.ObjectMeta{Name: name + "-new", OwnerReferences: []metav1.OwnerReference{ref}})
			wantRefused(t, w.Client.Create(t.Context(), object), "'webhookconfigurations.platform.labhub.io'", "cluster-scoped")
		}
		refuse("apps/v1", "Deployment")
		refuse("apps/v1beta1", "deployment")
		refuse("v1", "Service")
		refuse("/v1", "ConfigMap")
		refuse("v1", "ConfigMapList")
		refuse("resource.k8s.io/v1", "ResourceClaim")
		refuse("events.k8s.io/v1", "Event")
		there := make(metav1.ObjectMeta{Name: name})
		w.Create(t, there)
		err := w.Client.Patch(t.Context(), there, mergePatch(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"1"}]}}`))
		wantRefused(t, err, "'webhookconfigurations.platform.labhub.io'")
		var system corev1.Namespace
		if err := w.Client.Get(t.Context(), client.ObjectKey{Name: world.ReleaseNamespace}, &system); err != nil {
			t.Fatal(err)
		}
		w.Patch(t, there, fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":%q,"uid":%q}]}}`, system.Name, system.UID))
		w.Delete(t, there)
	}
}

// TestPolicy_Connections: the webhooks may get whatever there is, and connect to nothing.
func TestPolicy_Connections(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "connections")
	w.Create(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pod"}, Spec: deploymentSpec().Template.Spec})
	for _, path := range []string{"/api/v1/namespaces/" + ns + "/pods/pod/proxy/x", "/api/v1/namespaces/" + ns + "/services/x/proxy/", "/api/v1/nodes/x/proxy/pods"} {
		answer := w.Kubectl(t, "--as="+world.WebhookUser, "get", "--raw", path)
		if answer.Code == 0 || !strings.Contains(answer.Out, "connect to nothing") {
			t.Errorf("%s: %+v", path, answer)
		}
	}
	if answer := w.Kubectl(t, "--as="+world.WebhookUser, "get", "--raw", "/api/v1/namespaces/"+ns+"/pods/pod"); answer.Code != 0 {
		t.Errorf("reading: %+v", answer)
	}
}

// TestPolicy_Modes: a mode or a switch that is none is refused when it is set, and not held
// against whatever else is written later.
func TestPolicy_Modes(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	const refusal = "has to be enforce, warn, audit or off"
	set := func(ns, mode string) error {
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		return w.Client.Patch(t.Context(), object, mergePatch(fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, v1alpha1.LabelGuardMode, mode)))
	}
	ns := namespace(t, w, "modes")
	for _, mode := range []string{"enforce", "warn", "audit", "off"} {
		if err := set(ns, mode); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
	create := func(mode string) error {
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "modes-made", Labels: map[string]string{v1alpha1.LabelGuardMode: mode}}}
		return w.Client.Create(t.Context(), object, client.DryRunAll)
	}
	for _, mode := range []string{"Enforce", "enforced", ""} {
		wantRefused(t, set(ns, mode), refusal)
		wantRefused(t, create(mode), refusal)
	}

	annotated := func(value string) error {
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		return w.Client.Patch(t.Context(), object, mergePatch(fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationWebhooks, value)))
	}
	if err := annotated("off"); err != nil { // of another namespace than the release's it means nothing
		t.Errorf("the switch: %v", err)
	}
	for _, value := range []string{"OFF", "on", ""} {
		wantRefused(t, annotated(value), `has to be "off"`)
	}

	// As it was before the chart was installed.
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "modes.platform.labhub.io"}}
	w.Get(t, binding)
	w.Delete(t, binding)
	await(t, "a mode that is none is accepted", func() error { return set(ns, "none") })
	binding.ResourceVersion = ""
	w.Create(t, binding)
	await(t, "it is refused again", func() error {
		if err := create("none"); !apierrors.IsForbidden(err) {
			return errors.Join(err, errors.New("it is not"))
		}
		return nil
	})
	if err := w.Client.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, mergePatch(`{"metadata":{"labels":{"x.example/mine":"1"}}}`)); err != nil {
		t.Errorf("another label of a namespace with a mode that is none: %v", err)
	}
}
