package certmanager

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
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

// TestCertManager follows one installation through the life of its certificates, since
// each step begins with what the one before has left.
func TestCertManager(t *testing.T) {
	w := lab.World(t)
	install(t, w)
	r := replica.Start(t, w, replica.Options{Address: service(t, w), Flags: []string{"--certificate-provider=cert-manager"}})
	s := &story{w: w, r: r}
	t.Cleanup(func() {
		if s.manager == nil {
			return
		}
		if t.Failed() {
			said := s.manager.program.Output()
			t.Logf("cert-manager said at last:\n%s", said[max(0, len(said)-4000):])
		}
		s.manager.stop(t)
	})
	for _, chapter := range []struct {
		name string
		tell func(*testing.T)
	}{
		{"cert-manager comes after us", s.comesLate},
		{"the leaf is renewed", s.renews},
		{"the Secret is deleted", s.deleted},
		{"the caBundle is emptied", s.emptied},
		{"the authority is rotated", s.rotates},
		{"cert-manager is away", s.away},
	} {
		if !t.Run(chapter.name, chapter.tell) {
			return
		}
	}
	// The rules of either configuration, and nothing more.
	if made := writes(t, w); len(made) != 2 {
		t.Errorf("the manager has written to the configurations: %v", made)
	}
}

// story is what the chapters share.
type story struct {
	w       *world.World
	r       *replica.Replica
	manager *manager
}

// late is how long cert-manager stays away at first.
const late = time.Minute

// comesLate: without cert-manager the process waits, alive and not ready, and nobody is
// asked although what is not judged is refused. With cert-manager all of it comes by
// itself.
func (s *story) comesLate(t *testing.T) {
	world.Eventually(t, world.Patience, "it has begun", s.r.Alive)
	world.Never(t, late, "it waits", func() error {
		if s.r.Ready() == nil {
			return errors.New("it is ready")
		}
		return errors.Join(s.r.Alive(), s.w.Client.Create(t.Context(), stale(), client.DryRunAll))
	})
	s.manager = start(t, s.w)
	s.r.AwaitReady(t)
	s.w.AwaitServing(t)
	if seconds, found := s.r.Metric(t, "teamspace_certificate_expiry_seconds", `certificate="served"`); !found || seconds <= 0 || seconds > lifetime.Seconds() {
		t.Errorf("the certificate expires in %g s", seconds)
	}
}

// renews waits for cert-manager to renew the leaf at two thirds of its life.
func (s *story) renews(t *testing.T) { s.changes(t, func() {}) }

// deleted: cert-manager makes the Secret again.
func (s *story) deleted(t *testing.T) {
	s.changes(t, func() { s.w.Delete(t, secret(name+"-certificate")) })
}

// changes does something, waits until another leaf is served, and fails if anybody was
// not judged meanwhile.
func (s *story) changes(t *testing.T, do func()) {
	t.Helper()
	before := s.leaf(t)
	do()
	world.Eventually(t, 2*lifetime, "another leaf is served", func() error {
		s.judges(t)
		if s.leaf(t).SerialNumber.Cmp(before.SerialNumber) == 0 {
			return errors.New("it is the same")
		}
		return nil
	})
	for range 20 {
		s.judges(t)
	}
	s.r.AwaitReady(t)
}

// judges fails the test unless a wrong reference is denied by the guard.
func (s *story) judges(t *testing.T) {
	t.Helper()
	if err := s.w.Client.Create(t.Context(), stale(), client.DryRunAll); !apierrors.IsForbidden(err) {
		t.Errorf("a wrong reference: %v", err)
	}
}

func (s *story) leaf(t *testing.T) *x509.Certificate {
	t.Helper()
	leaf, err := s.r.Leaf()
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// emptied: the cainjector repairs, and the manager leaves it to that.
func (s *story) emptied(t *testing.T) {
	before := len(writes(t, s.w))
	v := validating(t, s.w)
	v.Webhooks[0].ClientConfig.CABundle = nil
	if err := s.w.Client.Update(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	world.Eventually(t, world.Patience, "the cainjector repairs it", func() error {
		if len(validating(t, s.w).Webhooks[0].ClientConfig.CABundle) == 0 {
			return errors.New("it is empty")
		}
		return nil
	})
	s.w.AwaitServing(t)
	s.r.AwaitReady(t)
	if made := writes(t, s.w)[before:]; len(made) > 0 {
		t.Errorf("the manager has written, too: %v", made)
	}
}

// rotates makes cert-manager issue another authority. It signs no leaf before the next
// renewal; then both are in the caBundle.
func (s *story) rotates(t *testing.T) {
	before := s.leaf(t)
	old := secret(name + "-ca")
	s.w.Get(t, old)
	s.w.Delete(t, secret(name+"-ca"))
	world.Eventually(t, 3*lifetime, "a leaf of another authority is served", func() error {
		s.judges(t)
		if string(s.leaf(t).AuthorityKeyId) == string(before.AuthorityKeyId) {
			return errors.New("it is the same authority")
		}
		return nil
	})
	renewed := secret(name + "-ca")
	s.w.Get(t, renewed)
	bundle := validating(t, s.w).Webhooks[0].ClientConfig.CABundle
	for what, authority := range map[string][]byte{"old": old.Data["tls.crt"], "new": renewed.Data["tls.crt"]} {
		if !contains(bundle, authority) {
			t.Errorf("the %s authority is not in the caBundle", what)
		}
	}
	for range 20 {
		s.judges(t)
	}
	s.r.AwaitReady(t)
}

// away: the leaf is served to its end, then the process says what is wrong and stays
// alive, and when cert-manager is back all is well again by itself.
func (s *story) away(t *testing.T) {
	s.manager.stop(t)
	end := s.leaf(t).NotAfter
	world.Eventually(t, 2*lifetime, "the leaf ends", func() error {
		if time.Now().Before(end.Add(-lifetime / 6)) {
			s.judges(t)
			if err := s.r.Ready(); err != nil {
				t.Errorf("before the end it is not ready: %v", err)
			}
		}
		if time.Now().Before(end) {
			return fmt.Errorf("it is good until %s", end)
		}
		return s.r.Alive()
	})
	world.Eventually(t, world.Patience, "it is not ready", func() error {
		if s.r.Ready() == nil {
			return errors.New("it is ready")
		}
		return nil
	})
	if seconds, found := s.r.Metric(t, "teamspace_certificate_expiry_seconds", `certificate="served"`); !found || seconds >= 0 {
		t.Errorf("the certificate expires in %g s", seconds)
	}
	if err := s.r.Alive(); err != nil {
		t.Error(err)
	}
	s.manager = start(t, s.w)
	s.r.AwaitReady(t)
	s.w.AwaitServing(t)
}

// name is what Service and configurations are called.
const name = "teamspace-webhook"

func secret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: world.ReleaseNamespace, Name: name}}
}

func validating(t testing.TB, w *world.World) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	v := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.Get(t, v)
	return v
}

// stale is a write that the guard has to deny.
func stale() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "stale", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Namespace", Name: "default", UID: "00000000-0000-0000-0000-000000000000"},
	}}}
}

// contains says whether a bundle has the first certificate of a text.
func contains(bundle, text []byte) bool {
	wanted, _ := pem.Decode(text)
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if wanted != nil && slices.Equal(block.Bytes, wanted.Bytes) {
			return true
		}
	}
	return false
}

// service is the address of the Service.
func service(t testing.TB, w *world.World) string {
	t.Helper()
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: world.ReleaseNamespace, Name: name}}
	w.Get(t, s)
	return net.JoinHostPort(s.Spec.ClusterIP, strconv.Itoa(int(s.Spec.Ports[0].Port)))
}

// writes are what the webhooks' account has changed in the configurations since they were
// made for cert-manager.
func writes(t testing.TB, w *world.World) []world.AuditEvent {
	t.Helper()
	return w.AuditEvents(t, func(e world.AuditEvent) bool {
		return e.User.Name == world.WebhookUser && e.Writes() && e.Object.Name == name && e.Response.Code < 400 &&
			e.Time.After(installed) && e.Object.APIGroup == admissionregistrationv1.GroupName
	})
}

// lifetime is that of a leaf.
const lifetime = 21 * time.Second

// installed is when the release was changed over to cert-manager.
var installed time.Time

// install changes the release over to cert-manager, which is not there yet.
func install(t *testing.T, w *world.World) {
	t.Helper()
	host, port, err := net.SplitHostPort(service(t, w))
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []client.Object{
		secret(name + "-certificate"),
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}},
	} {
		w.Delete(t, gone)
	}
	installed = time.Now()
	for _, object := range w.Render(t, "guard.failurePolicy=Fail", "webhook.clusterIP="+host, "webhook.port="+port,
		"certs.provider=cert-manager", "certs.leafLifetime="+lifetime.String(), "certs.authorityLifetime=1h") {
		u, ok := object.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("%T is no object of the chart", object)
		}
		world.Eventually(t, world.Patience, "the chart is applied", func() error {
			return w.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("helm"), client.ForceOwnership)
		})
	}
}
