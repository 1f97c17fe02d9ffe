package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var (
	began   = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	options = Options{Namespace: "system", Service: "webhook", Provider: Self, Lifetimes: lifetimes}

	lifetimes    = DefaultLifetimes()
	leafLifetime = lifetimes.Leaf
)

const dnsName = "webhook.system.svc"

func TestIssue(t *testing.T) {
	pair, err := Issue(dnsName, lifetimes, began)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		name    string
		at      time.Time
		trusted bool
	}{
		"at once":                      {dnsName, began, true},
		"by a clock that is behind":    {dnsName, began.Add(-skew + time.Second), true},
		"by one that is far behind":    {dnsName, began.Add(-2 * skew), false},
		"a day before its end":         {dnsName, began.Add(leafLifetime - 24*time.Hour), true},
		"after its end":                {dnsName, began.Add(leafLifetime + time.Second), false},
		"under another name":           {"other.system.svc", began, false},
		"under a shorter name":         {"webhook.system", began, false},
		"under the name of an address": {"127.0.0.1", began, false},
	} {
		if _, err := pair.Certificate(tc.name, tc.at); (err == nil) != tc.trusted {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIssue_LongName(t *testing.T) {
	name := string(bytes.Repeat([]byte("a"), 60)) + "." + string(bytes.Repeat([]byte("b"), 60)) + ".svc"
	pair, err := Issue(name, lifetimes, began)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pair.Certificate(name, began); err != nil {
		t.Error(err)
	}
}

func TestPair_Mixed(t *testing.T) {
	one, two := issue(t), issue(t)
	for name, pair := range map[string]Pair{
		"the leaf of another authority": {CA: two.CA, Leaf: one.Leaf, LeafKey: one.LeafKey},
		"the key of another leaf":       {CA: one.CA, Leaf: one.Leaf, LeafKey: two.LeafKey},
		"no authority":                  {Leaf: one.Leaf, LeafKey: one.LeafKey},
		"no certificate in it":          {CA: []byte("x"), Leaf: one.Leaf, LeafKey: one.LeafKey},
		"nothing":                       {},
	} {
		if _, err := pair.Certificate(dnsName, began); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	certificate, err := one.Certificate(dnsName, began)
	if err != nil {
		t.Fatal(err)
	}
	if err := Trusts(append(bytes.Clone(two.CA), one.CA...), certificate.Leaf, dnsName, began); err != nil {
		t.Errorf("a bundle of two: %v", err)
	}
}

func issue(t *testing.T) Pair {
	t.Helper()
	pair, err := Issue(dnsName, lifetimes, began)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// cluster is a fake API server with both webhook configurations, and what it was asked
// to apply.
type cluster struct {
	client.Client

	applied map[string]int
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := &cluster{applied: map[string]int{}}
	c.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, inner client.WithWatch, declared runtime.ApplyConfiguration, o ...client.ApplyOption) error {
			object, ok := declared.(interface{ GetKind() string })
			if !ok {
				return errors.New("not an object")
			}
			c.applied[object.GetKind()]++
			return inner.Apply(ctx, declared, o...)
		},
	}).Build()
	return c
}

func configurations() []client.Object {
	meta := metav1.ObjectMeta{Name: options.Service}
	service := admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "system", Name: "webhook"}}
	return []client.Object{
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionregistrationv1.ValidatingWebhook{
			{Name: "one.example", ClientConfig: service}, {Name: "two.example", ClientConfig: service},
		}},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionregistrationv1.MutatingWebhook{
			{Name: "one.example", ClientConfig: service},
		}},
	}
}

func keeperOf(c *cluster) *Keeper {
	return newKeeper(options, c, c, c, clocktesting.NewFakePassiveClock(began))
}

func pass(t *testing.T, k *Keeper) {
	t.Helper()
	for range 5 {
		result, err := k.Reconcile(t.Context(), reconcile.Request{})
		if err != nil {
			t.Fatal(err)
		}
		if result.RequeueAfter > firstLook {
			return
		}
	}
	t.Fatal("it does not come to an end")
}

func check(t *testing.T, k *Keeper) error {
	t.Helper()
	return k.Check(httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil))
}

func TestKeeper_FromNothing(t *testing.T) {
	c := newCluster(t, configurations()...)
	k := keeperOf(c)
	if _, err := k.GetCertificate(nil); err == nil {
		t.Error("it serves before it has anything")
	}
	if err := check(t, k); err == nil {
		t.Error("it is ready before it serves")
	}
	pass(t, k)
	if err := check(t, k); err != nil {
		t.Error(err)
	}
	if _, err := k.GetCertificate(&tls.ClientHelloInfo{}); err != nil {
		t.Error(err)
	}
	pass(t, k)
	want := map[string]int{"Secret": 1, "ValidatingWebhookConfiguration": 1, "MutatingWebhookConfiguration": 1}
	if diff := cmp.Diff(want, c.applied); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// TestKeeper_ReplicasAgree: whoever comes later serves what is there.
func TestKeeper_ReplicasAgree(t *testing.T) {
	c := newCluster(t, configurations()...)
	first, second := keeperOf(c), keeperOf(c)
	pass(t, first)
	pass(t, second)
	if diff := cmp.Diff(first.served.Load().pair, second.served.Load().pair); diff != "" {
		t.Error("they serve different pairs")
	}
	// Both find nothing, and both create: one of them loses, and looks again.
	builtIn, ok := second.provider.(*self)
	if !ok {
		t.Fatalf("the provider is %T", second.provider)
	}
	missing := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "webhook-certificate"}}
	if err := builtIn.write(t.Context(), missing, issue(t)); err == nil {
		t.Error("a second Secret was created")
	}
}

func TestKeeper_Repairs(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, c *cluster){
		"an emptied caBundle": func(t *testing.T, c *cluster) {
			v := &admissionregistrationv1.ValidatingWebhookConfiguration{}
			read(t, c, v)
			v.Webhooks[1].ClientConfig.CABundle = nil
			write(t, c, v)
		},
		"another authority": func(t *testing.T, c *cluster) {
			m := &admissionregistrationv1.MutatingWebhookConfiguration{}
			read(t, c, m)
			m.Webhooks[0].ClientConfig.CABundle = issue(t).CA
			write(t, c, m)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, configurations()...)
			k := keeperOf(c)
			pass(t, k)
			spoil(t, c)
			if err := check(t, k); err == nil {
				t.Error("it is ready though it is not trusted")
			}
			pass(t, k)
			if err := check(t, k); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestKeeper_SecretDeleted: it comes back with what is being served.
func TestKeeper_SecretDeleted(t *testing.T) {
	c := newCluster(t, configurations()...)
	k := keeperOf(c)
	pass(t, k)
	before := k.served.Load().pair
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "webhook-certificate"}}
	if err := c.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	pass(t, k)
	if diff := cmp.Diff(before, k.served.Load().pair); diff != "" {
		t.Error("the authority has changed")
	}
}

func TestKeeper_UnusableSecret(t *testing.T) {
	other, err := Issue("other.system.svc", lifetimes, began)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]map[string][]byte{
		"empty":            {},
		"for another name": dataOf(other),
		"not a key":        {corev1.TLSCertKey: []byte("x"), corev1.TLSPrivateKeyKey: []byte("y")},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "webhook-certificate"}, Type: corev1.SecretTypeTLS, Data: data}
			c := newCluster(t, append(configurations(), secret)...)
			k := keeperOf(c)
			pass(t, k)
			if err := check(t, k); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestKeeper_NoConfigurations: with the webhooks taken out of service there is nobody
// who has to trust.
func TestKeeper_NoConfigurations(t *testing.T) {
	c := newCluster(t)
	k := keeperOf(c)
	pass(t, k)
	if err := check(t, k); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(map[string]int{"Secret": 1}, c.applied); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func read(t *testing.T, c *cluster, object client.Object) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKey{Name: options.Service}, object); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, c *cluster, object client.Object) {
	t.Helper()
	if err := c.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}
