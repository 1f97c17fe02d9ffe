package admission

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/certs"
	"labhub.io/teamspace/test/replica"
	"labhub.io/teamspace/test/world"
)

// steady is how long something that was repaired has to stay as it is.
const steady = 3 * time.Second

// other is an authority that has signed nothing of ours.
func other(t *testing.T) []byte {
	t.Helper()
	pair, err := certs.Issue("other.svc", certs.DefaultLifetimes(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return pair.CA
}

// inForce returns an error unless both configurations are as they have to be: all with
// rules and with one bundle.
func inForce(t *testing.T, w *world.World) error {
	t.Helper()
	v, m := validating(t, w), mutating(t, w)
	bundle := v.Webhooks[0].ClientConfig.CABundle
	for i := range v.Webhooks {
		if h := &v.Webhooks[i]; len(h.Rules) == 0 || len(h.ClientConfig.CABundle) == 0 || string(h.ClientConfig.CABundle) != string(bundle) {
			return fmt.Errorf("webhook %q has %d rules, and %d bytes of a caBundle", h.Name, len(h.Rules), len(h.ClientConfig.CABundle))
		}
	}
	for i := range m.Webhooks {
		if h := &m.Webhooks[i]; len(h.Rules) == 0 || string(h.ClientConfig.CABundle) != string(bundle) {
			return fmt.Errorf("webhook %q has %d rules, and %d bytes of a caBundle", h.Name, len(h.Rules), len(h.ClientConfig.CABundle))
		}
	}
	return nil
}

// remake deletes both configurations, and makes them again as the chart does.
func remake(t *testing.T, w *world.World) {
	t.Helper()
	remove(t, w)
	for _, c := range configurations(chart(t, w)) {
		w.Create(t, c)
	}
}

func remove(t *testing.T, w *world.World) {
	t.Helper()
	for _, c := range []client.Object{
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}},
	} {
		if err := client.IgnoreNotFound(w.Client.Delete(t.Context(), c)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRepair: whatever is done to a configuration is repaired, by as many writes as it
// takes and no more.
func TestRepair(t *testing.T) {
	w := begin(t)
	r := alone(t, w)
	world.Eventually(t, world.Patience, "all is in force", func() error { return inForce(t, w) })
	for what, tc := range map[string]struct {
		spoil  func(t *testing.T)
		writes int
	}{
		"a caBundle is emptied": {func(t *testing.T) {
			v := validating(t, w)
			v.Webhooks[0].ClientConfig.CABundle = nil
			if err := w.Client.Update(t.Context(), v); err != nil {
				t.Fatal(err)
			}
		}, 1},
		"a caBundle is that of somebody else": {func(t *testing.T) {
			m := mutating(t, w)
			m.Webhooks[0].ClientConfig.CABundle = other(t)
			if err := w.Client.Update(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}, 1},
		"the rules are taken away": {func(t *testing.T) {
			v := validating(t, w)
			v.Webhooks[0].Rules = nil
			if err := w.Client.Update(t.Context(), v); err != nil {
				t.Fatal(err)
			}
		}, 1},
		"the chart is applied again, as by an upgrade": {func(t *testing.T) {
			for _, c := range configurations(chart(t, w)) {
				if err := w.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(c), client.FieldOwner("helm")); err != nil {
					t.Errorf("there is a conflict: %v", err)
				}
			}
		}, 0},
		// Each of the two gets its caBundle and its rules.
		"both are deleted and made again": {func(t *testing.T) { remake(t, w) }, 4},
	} {
		t.Run(what, func(t *testing.T) {
			before := len(writes(t, w, 0))
			tc.spoil(t)
			world.Eventually(t, world.Patience, "it is repaired", func() error { return inForce(t, w) })
			w.AwaitServing(t)
			world.Never(t, steady, "it stays", func() error { return inForce(t, w) })
			made := slices.DeleteFunc(writes(t, w, before), func(e world.AuditEvent) bool { return e.Response.Code == 409 })
			if len(made) != tc.writes {
				t.Errorf("it took %d writes, want %d: %v", len(made), tc.writes, made)
			}
		})
	}
	r.AwaitReady(t)
}

// TestBreakGlass: the switch takes the webhooks out of service, whoever makes their
// configurations again, and a deleted one stays deleted with it and without it.
func TestBreakGlass(t *testing.T) {
	w := begin(t)
	alone(t, w)
	owner := theOwner(t, w)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: world.ReleaseNamespace}}
	passes := func() error { return w.Client.Create(t.Context(), stale(owner), client.DryRunAll) }
	silent := func() error {
		v := validating(t, w)
		if len(v.Webhooks[0].Rules) > 0 {
			return errors.New("the guard has rules")
		}
		return nil
	}
	w.Patch(t, ns, `{"metadata":{"annotations":{"platform.labhub.io/webhooks":"off"}}}`)
	defer w.Patch(t, ns, `{"metadata":{"annotations":{"platform.labhub.io/webhooks":null}}}`)
	world.Eventually(t, world.Patience, "nobody is asked", func() error { return errors.Join(silent(), passes()) })

	remove(t, w)
	asked := len(writes(t, w, 0))
	world.Never(t, steady, "nobody makes it again", func() error {
		err := w.Client.Get(t.Context(), client.ObjectKey{Name: name}, &admissionregistrationv1.ValidatingWebhookConfiguration{})
		if client.IgnoreNotFound(err) != nil || err == nil {
			return errors.Join(err, errors.New("it is there"))
		}
		return nil
	})
	if tried := writes(t, w, asked); len(tried) > 0 {
		t.Errorf("it was tried to make it again: %v", tried)
	}
	remake(t, w)
	world.Never(t, steady, "made again it stays without rules", silent)
	if err := passes(); err != nil {
		t.Error(err)
	}
	w.Patch(t, ns, `{"metadata":{"annotations":{"platform.labhub.io/webhooks":null}}}`)
	world.Eventually(t, world.Patience, "all is in force again", func() error { return inForce(t, w) })
	w.AwaitServing(t)
}

// TestInForce: a configuration that the chart has made asks nobody until somebody can be
// reached, although what is not judged is refused; and it goes on asking when that one
// has gone.
func TestInForce(t *testing.T) {
	w := begin(t)
	owner := theOwner(t, w)
	remake(t, w)
	asked := func() error { return w.Client.Create(t.Context(), stale(owner), client.DryRunAll) }
	world.Eventually(t, world.Patience, "nobody is asked", asked)
	r := replica.Start(t, w, replica.Options{Address: replica.Free(t, "127.0.0.1")}) // where the Service does not lead
	world.Eventually(t, world.Patience, "the replica is ready", r.Ready)
	world.Never(t, steady, "nobody is asked", asked)
	if inForce, _ := r.Metric(t, "teamspace_webhooks_in_force"); inForce != 0 {
		t.Errorf("%g configurations are in force", inForce)
	}
	balancer := replica.Balance(t, service(t, w))
	balancer.Add(r)
	w.AwaitServing(t)
	world.Eventually(t, world.Patience, "the metric says that both are in force", func() error {
		if inForce, _ := r.Metric(t, "teamspace_webhooks_in_force"); inForce != 2 {
			return fmt.Errorf("it says %g", inForce)
		}
		return nil
	})
	r.Stop(t)
	balancer.Remove(r)
	if err := asked(); err == nil {
		t.Error("a write that nobody judged is accepted")
	}
	if err := inForce(t, w); err != nil {
		t.Error(err)
	}
}

// TestReady: a replica that the live caBundle does not trust is not ready, says why, and
// becomes ready by itself when it may write again.
func TestReady(t *testing.T) {
	w := begin(t)
	r := alone(t, w)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.Get(t, role)
	whole := role.DeepCopy()
	for i := range role.Rules {
		role.Rules[i].Verbs = slices.DeleteFunc(role.Rules[i].Verbs, func(verb string) bool { return verb == "patch" })
	}
	if err := w.Client.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	restore := func() {
		w.Get(t, role)
		role.Rules = whole.Rules
		if err := w.Client.Update(t.Context(), role); err != nil {
			t.Error(err)
		}
	}
	defer restore()
	world.Eventually(t, world.Patience, "the caBundle is spoilt, and stays so", func() error {
		v := validating(t, w)
		v.Webhooks[0].ClientConfig.CABundle = other(t)
		if err := w.Client.Update(t.Context(), v); err != nil {
			return err
		}
		if r.Ready() == nil {
			return errors.New("the replica is ready")
		}
		return nil
	})
	world.Never(t, steady, "it is not ready, and need not be restarted", func() error {
		if r.Ready() == nil {
			return errors.New("it is ready")
		}
		return r.Alive()
	})
	if trusted, _ := r.Metric(t, "teamspace_certificate_trusted"); trusted != 0 {
		t.Error("the metric calls the certificate trusted")
	}
	restore()
	r.AwaitReady(t)
	w.AwaitServing(t)
	if trusted, _ := r.Metric(t, "teamspace_certificate_trusted"); trusted != 1 {
		t.Error("the metric calls the certificate not trusted")
	}
}
