package restore

import (
	"errors"
	"fmt"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/page"
	"labhub.io/teamspace/test/world"
)

// TestRestore does what each row of the page says, in the world of that row.
func TestRestore(t *testing.T) {
	rows := page.Table(t, "restore.md", "What happens")
	for _, guard := range []string{"enforce", "off"} {
		t.Run("guard "+guard, func(t *testing.T) {
			w := world.Start(t, world.Options{Flags: []string{"--set=guard.mode=" + guard}})
			restorer := newRestorer(t, w)
			for _, policies := range []string{"on", "removed"} {
				if policies == "removed" {
					removePolicies(t, w, restorer)
				}
				t.Run("policies "+policies, func(t *testing.T) {
					for n, row := range rows {
						if !covers(row["guard"], guard) || !covers(row["policies"], policies) {
							continue
						}
						t.Run(row["the namespace has"]+" "+row["it comes"], func(t *testing.T) {
							t.Parallel()
							c := &restoration{World: w, by: restorer, name: fmt.Sprintf("%s-%d", policies, n), row: row}
							c.run(t)
						})
					}
				})
			}
		})
	}
}

// TestPage_CoversEverything: whatever the dump and the cluster are like, exactly one row
// says what happens.
func TestPage_CoversEverything(t *testing.T) {
	rows := page.Table(t, "restore.md", "What happens")
	for _, has := range []string{"reference", "label", "annotation", "nothing"} {
		for _, comes := range []string{"before", "after"} {
			for _, guard := range []string{"enforce", "off"} {
				for _, policies := range []string{"on", "removed"} {
					count := 0
					for _, row := range rows {
						if row["the namespace has"] == has && row["it comes"] == comes && covers(row["guard"], guard) && covers(row["policies"], policies) {
							count++
						}
					}
					if count != 1 {
						t.Errorf("%d rows are about %s, %s, guard %s, policies %s, want 1", count, has, comes, guard, policies)
					}
				}
			}
		}
	}
}

func covers(cell, value string) bool { return cell == value || cell == "any" }

// newRestorer is a person who may restore namespaces, what is in them, and TeamSpaces,
// holds the verb adopt, and may do nothing else.
func newRestorer(t *testing.T, w *world.World) client.Client {
	t.Helper()
	const name = "restorer"
	w.Create(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces", "configmaps"}, Verbs: []string{"get", "create", "update", "patch"}},
		{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"teamspaces"}, Verbs: []string{"get", "create", "adopt"}},
	}}, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	})
	c := w.As(t, name, "system:authenticated")
	world.Eventually(t, world.Patience, "the permissions count", func() error {
		return c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}, client.DryRunAll)
	})
	return c
}

// removePolicies takes the bindings away, without which the policies say nothing, and
// waits until that counts.
func removePolicies(t *testing.T, w *world.World, c client.Client) {
	t.Helper()
	for _, name := range []string{"namespaces.platform.labhub.io", "webhookconfigurations.platform.labhub.io"} {
		w.Delete(t, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	world.Eventually(t, world.Patience, "no policy refuses anything", func() error {
		probe := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "probe", Labels: map[string]string{v1alpha1.LabelTeamSpace: "probe"}}}
		return c.Create(t.Context(), probe, client.DryRunAll)
	})
}

// restoration restores one TeamSpace with its namespace.
type restoration struct {
	*world.World

	by   client.Client
	name string
	row  page.Row
}

func (c *restoration) run(t *testing.T) {
	ts, dump := world.TeamSpace(c.name, 2, "1"), c.dump()
	var err error
	if c.row["it comes"] == "before" {
		err = c.by.Create(t.Context(), dump)
		switch {
		case err != nil:
		case c.row["what becomes of it"] == "lost":
			c.awaitLost(t, dump)
		default:
			c.fill(t)
		}
		c.restore(t, ts)
	} else {
		c.restore(t, ts)
		c.AwaitReady(t, c.name)
		c.fill(t)
		err = c.by.Update(t.Context(), dump)
	}
	if refused := apierrors.IsForbidden(err); refused != (c.row["what becomes of it"] == "refused") || err != nil && !refused {
		t.Fatalf("restoring the namespace: %v, the page says that it is %s", err, c.row["what becomes of it"])
	}
	c.check(t, ts, dump)
}

// dump is the namespace as it is in the dump.
func (c *restoration) dump() *corev1.Namespace {
	ns := world.TeamNamespace(c.name)
	switch c.row["the namespace has"] {
	case "reference":
		ns.Labels = map[string]string{v1alpha1.LabelTeamSpace: c.name}
		ns.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.GroupVersionKind.Kind, Name: c.name,
			UID: "0ddba11a-0000-4000-8000-000000000000", Controller: new(true), BlockOwnerDeletion: new(true),
		}}
	case "label":
		ns.Labels = map[string]string{v1alpha1.LabelTeamSpace: c.name}
	case "annotation":
		ns.Labels = map[string]string{v1alpha1.LabelTeamSpace: c.name}
		ns.Annotations = map[string]string{v1alpha1.AnnotationAdopt: c.name}
	}
	return ns
}

func (c *restoration) restore(t *testing.T, ts *v1alpha1.TeamSpace) {
	t.Helper()
	if err := c.by.Create(t.Context(), ts); err != nil {
		t.Fatalf("restoring the TeamSpace: %v", err)
	}
}

// fill restores something into the namespace.
func (c *restoration) fill(t *testing.T) {
	t.Helper()
	if err := c.by.Create(t.Context(), c.content()); err != nil {
		t.Fatalf("restoring what is in the namespace: %v", err)
	}
}

func (c *restoration) content() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.NamespaceFor(c.name), Name: "data"}}
}

// check compares what becomes of a namespace with what the page says.
func (c *restoration) check(t *testing.T, ts *v1alpha1.TeamSpace, written *corev1.Namespace) {
	t.Helper()
	switch outcome := c.row["what becomes of it"]; outcome {
	case "refused":
		c.AwaitReady(t, c.name) // with a namespace of its own
		if c.row["it comes"] == "after" {
			c.Get(t, c.content())
		}
	case "adopted":
		c.awaitOwned(t, ts)
		c.checkKept(t, written)
	case "waits":
		c.AwaitCondition(t, c.name, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNamespaceConflict)
		c.checkKept(t, written)
		c.handOver(t)
		c.awaitOwned(t, ts)
		c.checkKept(t, written)
	case "lost":
		c.awaitOwned(t, ts) // another one
	case "may be lost":
		c.awaitSettled(t, ts, written)
	default:
		t.Fatalf("the page says %q, which nobody understands", outcome)
	}
}

// awaitOwned waits until the TeamSpace is served by a namespace of its own.
func (c *restoration) awaitOwned(t *testing.T, ts *v1alpha1.TeamSpace) {
	t.Helper()
	world.Eventually(t, world.CollectorPatience, "the namespace belongs to the TeamSpace", func() error {
		ns := world.TeamNamespace(c.name)
		if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(ns), ns); err != nil {
			return err
		}
		if len(ns.OwnerReferences) != 1 || ns.OwnerReferences[0].UID != ts.UID {
			return fmt.Errorf("ownerReferences %v, want %s", ns.OwnerReferences, ts.UID)
		}
		return nil
	})
	c.AwaitReady(t, c.name)
}

// checkKept looks for the namespace that was restored, and for what is in it.
func (c *restoration) checkKept(t *testing.T, written *corev1.Namespace) {
	t.Helper()
	ns := world.TeamNamespace(c.name)
	c.Get(t, ns)
	c.Get(t, c.content())
	if ns.UID != written.UID || !ns.DeletionTimestamp.IsZero() {
		t.Errorf("the namespace has uid %s, deletionTimestamp %v, want the restored one, %s", ns.UID, ns.DeletionTimestamp, written.UID)
	}
}

// handOver is what the page tells people to do about a namespace that waits.
func (c *restoration) handOver(t *testing.T) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"annotations": {"platform.labhub.io/adopt": "`+c.name+`"}}}`))
	if err := c.by.Patch(t.Context(), world.TeamNamespace(c.name), patch); err != nil {
		t.Fatal(err)
	}
}

func (c *restoration) awaitLost(t *testing.T, written *corev1.Namespace) {
	t.Helper()
	world.Eventually(t, world.CollectorPatience, "the collector takes the namespace", func() error {
		ns := world.TeamNamespace(c.name)
		if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(ns), ns); err != nil {
			return client.IgnoreNotFound(err)
		}
		if ns.UID == written.UID {
			return errors.New("it is there")
		}
		return nil
	})
	by := c.AuditEvents(t, func(e world.AuditEvent) bool {
		return e.Verb == "delete" && e.Object.Resource == "namespaces" && e.Object.Name == written.Name && e.User.Name == world.CollectorUser
	})
	if len(by) == 0 {
		t.Error("it was not the collector that deleted it")
	}
}

// awaitSettled waits until the race is over: the namespace is another one that serves,
// or the same one without the reference, waiting to be handed over.
func (c *restoration) awaitSettled(t *testing.T, ts *v1alpha1.TeamSpace, written *corev1.Namespace) {
	t.Helper()
	c.AwaitTeamSpace(t, c.name, "the race is over", func(now *v1alpha1.TeamSpace) bool {
		ns := world.TeamNamespace(c.name)
		if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(ns), ns); err != nil {
			return false
		}
		if ns.UID == written.UID && len(ns.OwnerReferences) == 0 && ns.DeletionTimestamp.IsZero() {
			t.Log("the controller was faster")
			return !world.IsReady(now)
		}
		return ns.UID != written.UID && world.IsReady(now) && ns.OwnerReferences[0].UID == ts.UID
	})
}
