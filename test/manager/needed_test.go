package manager

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// permission is the smallest thing that a role gives: one verb on one resource.
type permission struct {
	namespace, group, resource, verb, name string
}

func (p permission) String() string {
	text := p.verb + " " + p.resource
	if p.group != "" {
		text += "." + p.group
	}
	if p.name != "" {
		text += "/" + p.name
	}
	if p.namespace != "" {
		text += " in " + p.namespace
	}
	return text
}

// permissions are those that the chart gives to a ServiceAccount, all roles together.
func permissions(t *testing.T, w *world.World, account string) []permission {
	t.Helper()
	var all []permission
	add := func(namespace string, rules []rbacv1.PolicyRule) {
		for _, rule := range rules {
			names := rule.ResourceNames
			if len(names) == 0 {
				names = []string{""}
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						for _, name := range names {
							all = append(all, permission{namespace, group, resource, verb, name})
						}
					}
				}
			}
		}
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: account}}
	w.Get(t, role)
	add("", role.Rules)
	for _, namespace := range []string{world.ReleaseNamespace, world.ArchiveNamespace} {
		role := &rbacv1.Role{}
		err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: account}, role)
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		add(namespace, role.Rules)
	}
	return all
}

// needs says whether a request would have been refused without a permission. What an
// apply makes needs the permission to create, too.
func needs(e world.AuditEvent, p permission) bool {
	resource := e.Object.Resource
	if e.Object.Subresource != "" {
		resource += "/" + e.Object.Subresource
	}
	verb := e.Verb == p.verb || p.verb == "create" && e.Verb == "patch" && e.Response.Code == 201
	return verb && e.Response.Code < 400 && resource == p.resource && e.Object.APIGroup == p.group &&
		(p.namespace == "" || e.Object.Namespace == p.namespace) && (p.name == "" || e.Object.Name == p.name)
}

// alone says whether a request would have been refused without a permission although all
// the others were there.
func alone(e world.AuditEvent, p permission, all []permission) bool {
	return needs(e, p) && !slices.ContainsFunc(all, func(other permission) bool {
		return other != p && other.verb == p.verb && needs(e, other)
	})
}

// TestPermissions_Needed takes the permissions of both accounts one by one, and finds a
// request of the manager for each that the API server let through: whoever takes a
// permission away has that request refused. The world gives the webhooks no more owners
// to read than two kinds, since "get" on everything would cover the rest, and has an API
// server that does not stream lists, as older ones do not.
func TestPermissions_Needed(t *testing.T) {
	w := world.Start(t, world.Options{ChartArchive: true, Flags: []string{
		"--set=guard.owners[0].apiGroups[0]=,guard.owners[0].resources[0]=configmaps",
		"--set=guard.owners[1].apiGroups[0]=platform.labhub.io,guard.owners[1].resources[0]=teamspaces",
		"--apiserver-flag=feature-gates=WatchList=false",
	}})
	everything(t, w)
	// This one the API server asks for itself, where OwnerReferencesPermissionEnforcement is
	// on, and writes it nowhere: the tests of the guard show it.
	unseen := permission{group: "platform.labhub.io", resource: "teamspaces/finalizers", verb: "update"}
	for user, account := range map[string]string{world.ManagerUser: "teamspace-controller", world.WebhookUser: "teamspace-webhook"} {
		requests := w.AuditEvents(t, func(e world.AuditEvent) bool { return e.User.Name == user })
		all := permissions(t, w, account)
		for _, p := range all {
			if p != unseen && !slices.ContainsFunc(requests, func(e world.AuditEvent) bool { return alone(e, p, all) }) {
				t.Errorf("%s never needs: %s", account, p)
			}
		}
		t.Logf("%s: %d permissions, %d requests", account, len(all), len(requests))
		for _, e := range requests {
			if e.Response.Code == 403 {
				t.Errorf("%s asks for what it may not have: %s", account, e)
			}
		}
	}
}

// everything makes the manager do all that it can do.
func everything(t *testing.T, w *world.World) {
	t.Helper()
	w.Serve(t, world.TeamSpace("needed", 2, "1"))
	repairs(t, w)
	adopts(t, w)
	archives(t, w)
	// The guard looks at an owner, and asks who may know of it.
	stale := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "stale", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "kube-root-ca.crt", UID: "00000000-0000-0000-0000-000000000000"},
	}}}
	if err := w.Client.Create(t.Context(), stale); !apierrors.IsForbidden(err) {
		t.Errorf("a stale reference: %v", err)
	}
	certificate := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: world.ReleaseNamespace, Name: "teamspace-webhook-certificate"}}
	w.Patch(t, certificate, `{"data":{"tls.crt":""}}`)
	world.Eventually(t, world.Patience, "the certificate comes back", func() error {
		w.Get(t, certificate)
		if len(certificate.Data["tls.crt"]) == 0 {
			return errors.New("it is not there")
		}
		return nil
	})
}

// repairs undoes what others did to what a TeamSpace has, in each way that a quota has to
// be repaired.
func repairs(t *testing.T, w *world.World) {
	t.Helper()
	back := func(object client.Object, what string, done func() bool) {
		world.Eventually(t, world.Patience, what, func() error {
			if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
			if !done() {
				return fmt.Errorf("it is %+v", object)
			}
			return nil
		})
	}
	quota, limits := world.Quota("needed"), world.LimitRange("needed")
	for range 3 { // with nothing else in between the second event counts on from the first
		w.Get(t, limits)
		uid := limits.UID
		w.Delete(t, limits)
		back(limits, "it is made again", func() bool { return limits.UID != uid })
	}
	w.Patch(t, quota, `{"spec":{"hard":{"pods":"40","secrets":"7"}}}`)
	back(quota, "the quota is as declared", func() bool { return len(quota.Spec.Hard) == 2 })
	w.Patch(t, limits, `{"spec":{"limits":[{"type":"Container","default":{"cpu":"3"}}]}}`)
	back(limits, "the LimitRange is as declared", func() bool { return limits.Spec.Limits[0].Default.Cpu().Value() != 3 })

	w.Stop(t, world.Manager)
	w.Delete(t, quota)
	scoped := world.Quota("needed")
	scoped.Spec = corev1.ResourceQuotaSpec{Hard: quota.Spec.Hard, Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotTerminating}}
	w.Create(t, scoped)
	w.Start(t, world.Manager)
	back(quota, "the quota has no scopes", func() bool { return len(quota.Spec.Scopes) == 0 })
	w.AwaitReady(t, "needed")
}

// adopts takes a namespace over that was there before.
func adopts(t *testing.T, w *world.World) {
	t.Helper()
	ns := world.TeamNamespace("adopted")
	ns.Annotations = map[string]string{v1alpha1.AnnotationAdopt: "adopted"}
	w.Create(t, ns)
	w.Serve(t, world.TeamSpace("adopted", 1, "1"))
}

// archives deletes a TeamSpace, and another one whose record was begun before.
func archives(t *testing.T, w *world.World) {
	t.Helper()
	ts := w.AwaitReady(t, "adopted")
	w.Delete(t, ts)
	w.AwaitGone(t, ts)
	ts = w.Serve(t, world.TeamSpace("archived", 1, "1"))
	w.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: world.ArchiveNamespace, Name: recordPrefix + string(ts.UID)}})
	w.Delete(t, ts)
	w.AwaitGone(t, ts)
}

// recordPrefix is before the uid in the name of a record.
const recordPrefix = "teamspace-"
