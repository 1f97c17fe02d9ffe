package admission

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/replica"
	"labhub.io/teamspace/test/world"
)

var lab = &world.Shared{Options: world.Options{Flags: []string{"--set=guard.failurePolicy=Fail"}}, Prepare: prepare}

func TestMain(m *testing.M) { lab.Run(m) }

const (
	// name is what Service and configurations are called.
	name = "teamspace-webhook"

	// guarded is the namespace of the writes.
	guarded = "guarded"

	staleUID = "00000000-0000-0000-0000-000000000000"
)

// prepare takes the sandbox's own managers away: each test runs the replicas that it
// needs.
func prepare(ctx context.Context, w *world.World) error {
	if err := w.StopForGood(ctx, world.Manager); err != nil {
		return err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: guarded}}
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: guarded, Name: "owner"}}
	return errors.Join(w.Client.Create(ctx, ns), w.Client.Create(ctx, owner))
}

// begin returns the control plane as every test finds it: with nobody there who would
// write the Secret, and without what a test before has left of one. Its authority may be
// good for another few seconds only.
func begin(t testing.TB) *world.World {
	t.Helper()
	w := lab.World(t)
	if err := client.IgnoreNotFound(w.Client.Delete(t.Context(), secret())); err != nil {
		t.Fatal(err)
	}
	return w
}

// service is the address of the Service.
func service(t testing.TB, w *world.World) string {
	t.Helper()
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: world.ReleaseNamespace, Name: name}}
	w.Get(t, s)
	return net.JoinHostPort(s.Spec.ClusterIP, strconv.Itoa(int(s.Spec.Ports[0].Port)))
}

// chart is what the chart makes, for the Service as it is.
func chart(t testing.TB, w *world.World, values ...string) []client.Object {
	t.Helper()
	host, port, err := net.SplitHostPort(service(t, w))
	if err != nil {
		t.Fatal(err)
	}
	return w.Render(t, append([]string{"guard.failurePolicy=Fail", "webhook.clusterIP=" + host, "webhook.port=" + port}, values...)...)
}

// alone starts a replica at the address of the Service, and returns when the guard
// denies.
func alone(t testing.TB, w *world.World, flags ...string) *replica.Replica {
	t.Helper()
	r := replica.Start(t, w, replica.Options{Address: service(t, w), Flags: flags})
	r.AwaitReady(t)
	w.AwaitServing(t)
	return r
}

// dependent is a ConfigMap with a reference to the owner, which is right unless it has
// another uid.
func dependent(name string, owner *corev1.ConfigMap) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: guarded, Name: name, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
	}}}
}

// theOwner is the owner of the writes.
func theOwner(t testing.TB, w *world.World) *corev1.ConfigMap {
	t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: guarded, Name: "owner"}}
	w.Get(t, owner)
	return owner
}

// stale is a write that the guard has to deny.
func stale(owner *corev1.ConfigMap) *corev1.ConfigMap {
	c := dependent("stale", owner)
	c.OwnerReferences[0].UID = staleUID
	return c
}

// judged returns an error unless the guard denies a wrong reference and lets a right one
// pass.
func judged(ctx context.Context, c client.Client, owner *corev1.ConfigMap) error {
	if err := c.Create(ctx, dependent("right", owner), client.DryRunAll); err != nil {
		return fmt.Errorf("a right reference: %w", err)
	}
	if err := c.Create(ctx, stale(owner), client.DryRunAll); !apierrors.IsForbidden(err) {
		return fmt.Errorf("a wrong reference: %w", errors.Join(err, errors.New("it is not denied")))
	}
	return nil
}

func validating(t testing.TB, w *world.World) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	v := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.Get(t, v)
	return v
}

func mutating(t testing.TB, w *world.World) *admissionregistrationv1.MutatingWebhookConfiguration {
	t.Helper()
	m := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.Get(t, m)
	return m
}

// configurations are those two of what the chart makes.
func configurations(objects []client.Object) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, object := range objects {
		kind := object.GetObjectKind().GroupVersionKind().Kind
		if u, ok := object.(*unstructured.Unstructured); ok && (kind == "ValidatingWebhookConfiguration" || kind == "MutatingWebhookConfiguration") {
			found = append(found, u)
		}
	}
	return found
}

// writes counts what an account has written to the webhook configurations since a mark,
// as far as it changed something.
func writes(t testing.TB, w *world.World, since int) []world.AuditEvent {
	t.Helper()
	all := w.AuditEvents(t, func(e world.AuditEvent) bool {
		return e.User.Name == world.WebhookUser && e.Writes() && e.Object.Name == name &&
			(e.Object.Resource == "validatingwebhookconfigurations" || e.Object.Resource == "mutatingwebhookconfigurations")
	})
	return all[min(since, len(all)):]
}

func keyOf(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }

// expired returns an error unless a certificate has expired.
func expired(der []byte, now time.Time) error {
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return err
	}
	if !now.After(certificate.NotAfter) {
		return fmt.Errorf("it is good until %s", certificate.NotAfter)
	}
	return nil
}
