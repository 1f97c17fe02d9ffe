package enforcement

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/certs"
)

// lab is a Reconciler on a fake API server, with the answers of the outside in the
// test's hands.
type lab struct {
	*Reconciler
	client.Client

	clock            *clocktesting.FakePassiveClock
	trusted, reached error
	applied          int
}

func newLab(t *testing.T, objects ...client.Object) *lab {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	l := &lab{clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	l.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, inner client.WithWatch, declared runtime.ApplyConfiguration, o ...client.ApplyOption) error {
			l.applied++
			return inner.Apply(ctx, declared, o...)
		},
	}).Build()
	l.Reconciler = &Reconciler{
		options: Options{Namespace: "system", Service: "webhook", Trusted: func(context.Context) error { return l.trusted }},
		cache:   l.Client, writer: l.Client, clock: l.clock, metrics: newEnforced(),
		reach: func(context.Context, admissionregistrationv1.WebhookClientConfig) error { return l.reached },
	}
	return l
}

// asTheChart is what the chart makes, and a webhook that is none of ours.
func asTheChart() []client.Object {
	meta := metav1.ObjectMeta{Name: "webhook"}
	theirs := []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{"CREATE"}, Rule: admissionregistrationv1.Rule{
		APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}, Scope: new(admissionregistrationv1.AllScopes),
	}}}
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "system"}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionregistrationv1.ValidatingWebhook{
			{Name: ownerReferences}, {Name: teamSpaces}, {Name: "pods.acme.example", Rules: theirs},
		}},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: teamSpaces}}},
	}
}

func (l *lab) pass(t *testing.T) reconcile.Result {
	t.Helper()
	result, err := l.Reconcile(t.Context(), reconcile.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// rules are how many rules each webhook has.
func (l *lab) rules(t *testing.T) map[string]int {
	t.Helper()
	found, err := configurations(t.Context(), l.Client, "webhook")
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]int{}
	for _, c := range found {
		for _, h := range c.hooks {
			counted[c.kind[:1]+" "+h.name] = len(h.rules)
		}
	}
	return counted
}

func (l *lab) want(t *testing.T, ours int) {
	t.Helper()
	for webhook, got := range l.rules(t) {
		want := ours
		if webhook == "V pods.acme.example" {
			want = 1
		}
		if got != want {
			t.Errorf("%s has %d rules, want %d", webhook, got, want)
		}
	}
}

// TestReconcile_Waits: nothing is in force until the process is trusted and can be
// reached, and then everything is, by one write for each configuration.
func TestReconcile_Waits(t *testing.T) {
	l := newLab(t, asTheChart()...)
	l.trusted = errors.New("not trusted")
	for _, outside := range []func(){func() {}, func() { l.trusted, l.reached = nil, errors.New("nobody there") }} {
		outside()
		if result := l.pass(t); result.RequeueAfter != lookAgain {
			t.Errorf("it looks again after %s", result.RequeueAfter)
		}
		l.want(t, 0)
	}
	l.reached = nil
	l.pass(t)
	l.want(t, 1)
	if result := l.pass(t); result.RequeueAfter != 0 || l.applied != 2 {
		t.Errorf("%d writes, and it looks again after %s", l.applied, result.RequeueAfter)
	}
	// What is in force stays so, whatever happens outside.
	l.trusted, l.reached = errors.New("not trusted"), errors.New("nobody there")
	l.pass(t)
	l.want(t, 1)
}

// TestReconcile_Patience: who is trusted but cannot reach itself goes ahead after a while.
func TestReconcile_Patience(t *testing.T) {
	l := newLab(t, asTheChart()...)
	l.reached = errors.New("pods may not call each other here")
	for range 3 {
		l.pass(t)
		l.clock.SetTime(l.clock.Now().Add(patience / 3))
	}
	l.want(t, 0)
	l.pass(t)
	l.want(t, 1)
}

// TestReconcile_Switch: the annotation takes the rules away, keeps them away from a
// configuration that is made again, and gives them back.
func TestReconcile_Switch(t *testing.T) {
	l := newLab(t, asTheChart()...)
	l.pass(t)
	mark := func(value string) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "system", Annotations: map[string]string{v1alpha1.AnnotationWebhooks: value}}}
		if err := l.Client.Update(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
	}
	mark("off")
	l.pass(t)
	l.want(t, 0)
	for _, object := range asTheChart()[1:] {
		if err := l.Client.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	before := l.applied
	l.pass(t)
	if found := l.rules(t); len(found) != 0 || l.applied != before {
		t.Errorf("it was made again: %v", found)
	}
	for _, object := range asTheChart()[1:] {
		if err := l.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	l.pass(t)
	l.want(t, 0)
	mark("on")
	l.pass(t)
	l.want(t, 1)
}

// TestReconcile_Metric: a configuration that is not there is not in force.
func TestReconcile_Metric(t *testing.T) {
	objects := asTheChart()
	l := newLab(t, objects[:2]...)
	l.pass(t)
	l.pass(t)
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(l.metrics); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, metric := range families[0].Metric {
		got[metric.Label[0].GetValue()] = metric.GetGauge().GetValue()
	}
	if got[validatingKind] != 1 || got[mutatingKind] != 0 {
		t.Errorf("in force: %v", got)
	}
}

// TestServices_Reach: a server counts that the configuration trusts under the name of the
// Service, at the Service's address.
func TestServices_Reach(t *testing.T) {
	const name = "webhook.system.svc"
	pair, err := certs.Issue(name, certs.DefaultLifetimes(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	other, err := certs.Issue("other.system.svc", certs.DefaultLifetimes(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	host, port := serve(t, pair)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "webhook"}, Spec: corev1.ServiceSpec{ClusterIP: host}}
	to := func(service string, port int32, bundle []byte) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{
			Service:  &admissionregistrationv1.ServiceReference{Namespace: "system", Name: service, Port: &port},
			CABundle: bundle,
		}
	}
	found := services{live: newLab(t, service).Client}
	for name, tc := range map[string]struct {
		config admissionregistrationv1.WebhookClientConfig
		good   bool
	}{
		"it is there":                    {to("webhook", port, pair.CA), true},
		"another authority":              {to("webhook", port, other.CA), false},
		"no authority":                   {to("webhook", port, nil), false},
		"no such Service":                {to("nosuch", port, pair.CA), false},
		"nobody listens":                 {to("webhook", 1, pair.CA), false},
		"by URL, which is not the chart": {admissionregistrationv1.WebhookClientConfig{URL: new("https://acme.example")}, true},
	} {
		if err := found.reach(t.Context(), tc.config); (err == nil) != tc.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// serve accepts connections with a certificate until the test ends.
func serve(t *testing.T, pair certs.Pair) (host string, port int32) {
	t.Helper()
	certificate, err := tls.X509KeyPair(pair.Leaf, pair.LeafKey)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			if server, ok := connection.(*tls.Conn); ok {
				_ = server.Handshake() // the client tells how it went
			}
			connection.Close()
		}
	}()
	host, text, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return host, int32(number)
}
