package guard

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/world"
)

// authenticated is the group that the API server puts everybody into.
const authenticated = "system:authenticated"

// allow gives a user permissions, in a namespace or, with "", everywhere.
func allow(t *testing.T, w *world.World, user, namespace string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	w.Create(t, permissions(user, namespace, rules...)...)
}

// permissions are a role and its binding.
func permissions(user, namespace string, rules ...rbacv1.PolicyRule) []client.Object {
	meta := metav1.ObjectMeta{Name: "may:" + user, Namespace: namespace}
	subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}
	if namespace != "" {
		return []client.Object{&rbacv1.Role{ObjectMeta: meta, Rules: rules}, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subject}}
	}
	ref.Kind = "ClusterRole"
	return []client.Object{&rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subject}}
}

func rule(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// outsider is a user who may write everything and read nothing that owns, in every test
// of this package.
const outsider = "outsider"

// administrator is who is asked as where nothing else is said.
const administrator = "administrator"

// outsiderRules are what an outsider may do. kubectl reads what it patches or replaces.
func outsiderRules() []rbacv1.PolicyRule {
	read := rule("", []string{"configmaps", "services", "services/status"}, "get")
	read.ResourceNames = []string{"there", "applied", "fresh"}
	return []rbacv1.PolicyRule{rule("*", []string{"*"}, "create", "update", "patch"), read}
}

// identities are the flags by which kubectl asks as administrator and as outsider.
func identities() map[string][]string {
	return map[string][]string{administrator: nil, outsider: {"--as=" + outsider, "--as-group=" + authenticated}}
}

// asOutsider is a client of the outsider, whose permissions count.
func asOutsider(t *testing.T, w *world.World) client.Client {
	t.Helper()
	c := w.As(t, outsider, authenticated)
	await(t, "the outsider may write", func() error { return c.Create(t.Context(), configMap("default", "probe"), client.DryRunAll) })
	return c
}

// wantDeniedToBoth fails the test unless the guard denies a request to the administrator,
// with these words, and to the outsider, who is told no uid of these owners.
func wantDeniedToBoth(t *testing.T, w *world.World, request func(client.Client) error, owners []client.Object, words ...string) {
	t.Helper()
	wantDenied(t, request(w.Client), words...)
	err := request(asOutsider(t, w))
	wantDenied(t, err)
	told, err := json.Marshal(status(t, err)) // with the causes
	if err != nil {
		t.Fatal(err)
	}
	wantSilent(t, string(told), owners...)
}

// wantSilent fails the test if what the outsider is told holds the uid of an owner.
func wantSilent(t *testing.T, told string, owners ...client.Object) {
	t.Helper()
	for _, o := range owners {
		if o.GetUID() == "" {
			t.Fatalf("%s has no uid that could be told", o.GetName())
		}
		if strings.Contains(told, string(o.GetUID())) {
			t.Errorf("who may not read %s learns its uid:\n%s", o.GetName(), told)
		}
	}
}

// creates is a request for an object, by dry-run.
func creates(t *testing.T, object client.Object) func(client.Client) error {
	return func(c client.Client) error {
		// An object that was denied has changed nothing in what is sent next.
		return c.Create(t.Context(), object, client.DryRunAll)
	}
}

// await waits until a user may do what the check does: the API server learns of
// permissions a moment after they are given.
func await(t *testing.T, what string, check func() error) {
	t.Helper()
	world.Eventually(t, world.Patience, what, check)
}

// TestTwoIdentities: who may not read the owner learns nothing of it, whatever is wrong
// (H6); who may is told.
func TestTwoIdentities(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "identities")
	alpha := site(t, w, ns, "alpha")
	write := rule("", []string{"configmaps", "events"}, "*")
	allow(t, w, "stranger", ns, write)
	allow(t, w, "friend", ns, write, rule("own.labhub.io", []string{"sites"}, "get"))
	stranger, friend := w.As(t, "stranger", authenticated), w.As(t, "friend", authenticated)
	for _, user := range []client.Client{stranger, friend} {
		await(t, "permissions count", func() error { return user.Create(t.Context(), configMap(ns, "probe"), client.DryRunAll) })
	}
	await(t, "the friend may read", func() error { return friend.Get(t.Context(), client.ObjectKeyFromObject(alpha), owner("", "")) })

	stale := reference(alpha, "Site")
	stale.UID = staleUID
	absent := stale
	absent.Name = "nosuch"
	told := strings.ReplaceAll(status(t, stranger.Create(t.Context(), configMap(ns, "c", stale))).Message, "alpha", "NAME")
	if other := strings.ReplaceAll(status(t, stranger.Create(t.Context(), configMap(ns, "c", absent))).Message, "nosuch", "NAME"); told != other {
		t.Errorf("an owner that is there can be told from one that is not:\n%s\n%s", told, other)
	}
	if strings.Contains(told, string(alpha.GetUID())) {
		t.Errorf("the stranger is told the uid: %s", told)
	}
	wantDenied(t, friend.Create(t.Context(), configMap(ns, "c", stale)), string(alpha.GetUID()))
	wantDenied(t, friend.Create(t.Context(), configMap(ns, "c", absent)), `Site "nosuch" does not exist`)

	// A foreground deletion is a secret too, and no reason to deny.
	blocker := reference(alpha, "Site")
	blocker.BlockOwnerDeletion = new(true)
	held := configMap(ns, "held", blocker)
	held.Finalizers = []string{"own.labhub.io/hold"}
	w.Create(t, held)
	if err := w.Client.Delete(t.Context(), alpha, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		t.Fatal(err)
	}
	for user, warns := range map[string]bool{"stranger": false, "friend": true} {
		answer := w.Kubectl(t, "--as="+user, "--as-group="+authenticated, "-n", ns, "create", "--dry-run=server", "-f", writeManifest(t, configMap(ns, "late", reference(alpha, "Site"))))
		if answer.Code != 0 || strings.Contains(answer.Out, "foreground") != warns {
			t.Errorf("%s: %+v", user, answer)
		}
	}
	w.Patch(t, held, `{"metadata":{"finalizers":null}}`)

	// Nothing of all that went into an event.
	var events corev1.EventList
	if err := stranger.List(t.Context(), &events, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for i := range events.Items {
		if strings.Contains(events.Items[i].Message, string(alpha.GetUID())) && events.Items[i].Reason != "OwnerRefInvalidNamespace" {
			t.Errorf("event %s: %s", events.Items[i].Reason, events.Items[i].Message)
		}
	}
}
