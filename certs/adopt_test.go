package certs

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// stepped is a Keeper whose clock the test steps.
type stepped struct {
	*Keeper
	cluster *cluster
	clock   *clocktesting.FakePassiveClock
}

func newStepped(t *testing.T, provider Provider) *stepped {
	t.Helper()
	return another(newCluster(t, configurations()...), provider, clocktesting.NewFakePassiveClock(began))
}

func another(c *cluster, provider Provider, clock *clocktesting.FakePassiveClock) *stepped {
	o := options
	o.Provider, o.Lifetimes = provider, short
	return &stepped{Keeper: newKeeper(o, c, c, c, clock), cluster: c, clock: clock}
}

// step lets time pass, and makes the pass that comes then.
func (s *stepped) step(t *testing.T, by time.Duration) reconcile.Result {
	t.Helper()
	s.clock.SetTime(s.clock.Now().Add(by))
	result, err := s.Reconcile(t.Context(), reconcile.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (s *stepped) wantReady(t *testing.T) {
	t.Helper()
	if err := check(t, s.Keeper); err != nil {
		t.Errorf("it is not ready: %v", err)
	}
}

func (s *stepped) bundle(t *testing.T) []byte {
	t.Helper()
	v := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	read(t, s.cluster, v)
	return v.Webhooks[0].ClientConfig.CABundle
}

// TestKeeper_Renews: a leaf of the same authority is served in the pass that makes it.
func TestKeeper_Renews(t *testing.T) {
	s := newStepped(t, Self)
	s.step(t, 0)
	before, bundle := s.served.Load(), s.bundle(t)
	s.step(t, 3*time.Minute)
	if !s.served.Load().pair.equal(before.pair) {
		t.Error("the leaf is renewed before it is due")
	}
	s.step(t, 2*time.Minute)
	if bytes.Equal(s.served.Load().pair.Leaf, before.pair.Leaf) {
		t.Error("the leaf is not renewed")
	}
	if !bytes.Equal(bundle, s.bundle(t)) {
		t.Error("the caBundle has changed")
	}
	s.wantReady(t)
}

// TestKeeper_RotatesAuthority: the caBundle has both authorities first, and only after all
// API servers have had time to learn of that is a leaf of the new one served. When the old
// one has expired it is dropped.
func TestKeeper_RotatesAuthority(t *testing.T) {
	s := newStepped(t, Self)
	s.step(t, 0)
	for range 7 {
		s.step(t, 5*time.Minute)
		s.wantReady(t)
	}
	before := s.served.Load().pair
	result := s.step(t, 5*time.Minute)
	if got := len(authorities(s.bundle(t))); got != 2 {
		t.Fatalf("%d authorities in the caBundle", got)
	}
	if !bytes.Equal(s.served.Load().pair.Leaf, before.Leaf) {
		t.Error("the new leaf is served at once")
	}
	s.wantReady(t)
	if result.RequeueAfter != s.settling() {
		t.Errorf("it looks again after %s, want %s", result.RequeueAfter, s.settling())
	}
	s.step(t, result.RequeueAfter)
	if bytes.Equal(s.served.Load().pair.Leaf, before.Leaf) {
		t.Error("the new leaf is not served")
	}
	s.wantReady(t)
	for range 5 {
		s.step(t, 4*time.Minute)
		s.wantReady(t)
	}
	if got := len(authorities(s.bundle(t))); got != 1 {
		t.Errorf("%d authorities in the caBundle", got)
	}
}

// TestKeeper_TwoReplicas: whoever looks first makes what is due, and the other one goes on
// with that.
func TestKeeper_TwoReplicas(t *testing.T) {
	one := newStepped(t, Self)
	two := another(one.cluster, Self, one.clock)
	for i := range 30 {
		first, second := one, two
		if i%2 == 1 {
			first, second = two, one
		}
		first.step(t, 4*time.Minute)
		second.step(t, 0)
		first.step(t, first.settling())
		second.step(t, 0)
		if diff := cmp.Diff(first.served.Load().pair, second.served.Load().pair); diff != "" {
			t.Fatalf("round %d: they serve different pairs", i)
		}
		one.wantReady(t)
		two.wantReady(t)
	}
}

// TestKeeper_AuthorityReplaced: a good pair of another authority in the Secret is taken
// over like one of our own.
func TestKeeper_AuthorityReplaced(t *testing.T) {
	s := newStepped(t, Self)
	s.step(t, 0)
	before := s.served.Load().pair
	pair, err := Issue(dnsName, short, began)
	if err != nil {
		t.Fatal(err)
	}
	s.put(t, pair)
	s.step(t, 0)
	if len(authorities(s.bundle(t))) != 2 || !bytes.Equal(s.served.Load().pair.Leaf, before.Leaf) {
		t.Error("it does not wait until both are trusted")
	}
	s.wantReady(t)
	s.step(t, s.settling())
	if !bytes.Equal(s.served.Load().pair.Leaf, pair.Leaf) {
		t.Error("the other leaf is not served")
	}
	s.wantReady(t)
}

// put replaces what is in the Secret, or makes it.
func (s *stepped) put(t *testing.T, p Pair) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "webhook-certificate"}, Type: corev1.SecretTypeTLS, Data: dataOf(p)}
	if s.cluster.Create(t.Context(), secret) == nil {
		return
	}
	write(t, s.cluster, secret)
}

// publish plays the cainjector.
func (s *stepped) publish(t *testing.T, bundle []byte) {
	t.Helper()
	v, m := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}
	read(t, s.cluster, v)
	read(t, s.cluster, m)
	for i := range v.Webhooks {
		v.Webhooks[i].ClientConfig.CABundle = bundle
	}
	for i := range m.Webhooks {
		m.Webhooks[i].ClientConfig.CABundle = bundle
	}
	write(t, s.cluster, v)
	write(t, s.cluster, m)
}

// TestKeeper_CertManager goes through what cert-manager does, and what it may do wrong.
// Nothing is written by us.
func TestKeeper_CertManager(t *testing.T) {
	s := newStepped(t, CertManager)
	s.step(t, 0)
	if err := check(t, s.Keeper); err == nil {
		t.Error("it is ready before cert-manager has come")
	}
	first := issue(t)
	s.put(t, first)
	s.step(t, 0)
	if err := check(t, s.Keeper); err == nil {
		t.Error("it is ready before the cainjector has come")
	}
	s.publish(t, first.CA)
	s.step(t, 0)
	s.wantReady(t)

	for name, spoilt := range map[string]Pair{
		"the key of another leaf": {CA: first.CA, Leaf: first.Leaf, LeafKey: issue(t).LeafKey},
		"nothing":                 {},
		"a leaf that has expired": issueAt(t, began.Add(-365*24*time.Hour)),
	} {
		s.put(t, spoilt)
		s.step(t, 0)
		if !bytes.Equal(s.served.Load().pair.Leaf, first.Leaf) || s.problem.Load() == nil {
			t.Errorf("%s: the old pair is not served, or nothing is said", name)
		}
		s.wantReady(t)
	}

	second := issue(t)
	s.put(t, second)
	s.step(t, 0)
	if !bytes.Equal(s.served.Load().pair.Leaf, first.Leaf) || s.problem.Load() != nil {
		t.Error("a leaf is served that nobody trusts yet")
	}
	s.publish(t, append(bytes.Clone(first.CA), second.CA...))
	s.step(t, 0)
	s.step(t, longestSettling)
	if !bytes.Equal(s.served.Load().pair.Leaf, second.Leaf) {
		t.Error("the leaf is not served that everybody trusts")
	}
	s.wantReady(t)
	s.step(t, 2*leafLifetime)
	if err := check(t, s.Keeper); err == nil {
		t.Error("it is ready with a leaf that has expired")
	}
	if len(s.cluster.applied) > 0 {
		t.Errorf("writes %v", s.cluster.applied)
	}
}

// TestCollector: the metrics say what the clock alone has changed.
func TestCollector(t *testing.T) {
	s := newStepped(t, Self)
	if diff := cmp.Diff(map[string]float64{"trusted": 0, "renewable": 1}, s.metrics(t)); diff != "" {
		t.Errorf("before there is anything (-want +got):\n%s", diff)
	}
	s.step(t, 0)
	want := map[string]float64{"trusted": 1, "renewable": 1, "served": 360, "authority": 3600}
	if diff := cmp.Diff(want, s.metrics(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.clock.SetTime(began.Add(7 * time.Minute))
	want = map[string]float64{"trusted": 0, "renewable": 1, "served": -60, "authority": 3180}
	if diff := cmp.Diff(want, s.metrics(t)); diff != "" {
		t.Errorf("after the end of the leaf (-want +got):\n%s", diff)
	}
}

// metrics are the values by what they are about.
func (s *stepped) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(collector{s.Keeper}); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{"teamspace_certificate_trusted": "trusted", "teamspace_certificate_renewable": "renewable"}
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			about := names[family.GetName()]
			for _, label := range metric.Label {
				about = label.GetValue()
			}
			values[about] = metric.GetGauge().GetValue()
		}
	}
	return values
}

func TestParseProvider(t *testing.T) {
	for _, name := range []Provider{Self, CertManager} {
		if got, err := ParseProvider(string(name)); err != nil || got != name {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	if _, err := ParseProvider("vault"); err == nil {
		t.Error("an unknown provider is accepted")
	}
}
