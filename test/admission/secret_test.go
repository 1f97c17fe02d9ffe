package admission

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/certs"
	"labhub.io/teamspace/test/replica"
	"labhub.io/teamspace/test/world"
)

// dnsName is what the API server expects in the certificate.
const dnsName = name + "." + world.ReleaseNamespace + ".svc"

func secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: world.ReleaseNamespace, Name: name + "-certificate"}}
}

// issued is a pair for a name, as if it had been issued at some other time.
func issued(t *testing.T, dnsName string, at time.Time) certs.Pair {
	t.Helper()
	pair, err := certs.Issue(dnsName, certs.Lifetimes{Leaf: time.Hour, Authority: 24 * time.Hour}, at)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// TestSecret: whatever is done to the Secret, the old pair goes on serving, nobody has to
// trust anything new, and the Secret can be used again soon.
func TestSecret(t *testing.T) {
	w := begin(t)
	r := alone(t, w)
	pid, owner := r.PID(), theOwner(t, w)
	put := func(t *testing.T, change func(data map[string][]byte)) {
		s := secret()
		w.Get(t, s)
		change(s.Data)
		if err := w.Client.Update(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for what, spoil := range map[string]func(t *testing.T){
		"deleted": func(t *testing.T) { w.Delete(t, secret()) },
		"half-written: a new leaf and the old key": func(t *testing.T) {
			put(t, func(data map[string][]byte) { data[corev1.TLSCertKey] = issued(t, dnsName, time.Now()).Leaf })
		},
		"cut off in the middle": func(t *testing.T) {
			put(t, func(data map[string][]byte) { data[corev1.TLSCertKey] = data[corev1.TLSCertKey][:100] })
		},
		"emptied": func(t *testing.T) {
			put(t, func(data map[string][]byte) {
				for key := range data {
					data[key] = nil
				}
			})
		},
		"with a leaf that has expired": func(t *testing.T) {
			old := issued(t, dnsName, time.Now().Add(-12*time.Hour))
			put(t, func(data map[string][]byte) {
				data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey], data["ca.crt"] = old.Leaf, old.LeafKey, old.CA
			})
		},
		"for another name": func(t *testing.T) {
			another := issued(t, "other.svc", time.Now())
			put(t, func(data map[string][]byte) {
				data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey] = another.Leaf, another.LeafKey
				data["ca.crt"], data["ca.key"] = another.CA, another.CAKey
			})
		},
	} {
		t.Run(what, func(t *testing.T) {
			before, bundle := unanswered(t, w), validating(t, w).Webhooks[0].ClientConfig.CABundle
			spoil(t)
			world.Eventually(t, world.Patience, "the Secret can be used", func() error {
				if err := judged(t.Context(), w.Client, owner); err != nil {
					t.Errorf("meanwhile: %v", err)
				}
				return usable(t, w)
			})
			world.Never(t, time.Second, "the guard answers", func() error { return judged(t.Context(), w.Client, owner) })
			if !bytes.Equal(bundle, validating(t, w).Webhooks[0].ClientConfig.CABundle) {
				t.Error("the authority has changed")
			}
			if more := unanswered(t, w) - before; more > 0 {
				t.Errorf("%g calls failed", more)
			}
			if err := r.Ready(); err != nil {
				t.Error(err)
			}
		})
	}
	if r.PID() != pid {
		t.Error("the process is another one")
	}
}

// TestSecret_Made: of replicas that begin at the same time, with no Secret there, one makes
// the authority of all.
func TestSecret_Made(t *testing.T) {
	w := begin(t)
	balancer := replica.Balance(t, service(t, w))
	all := make([]*replica.Replica, 3)
	for i := range all {
		all[i] = replica.Start(t, w, replica.Options{Address: replica.Free(t, "127.0.0.1")})
		balancer.Add(all[i])
	}
	for _, r := range all {
		r.AwaitReady(t)
	}
	w.AwaitServing(t)
	if err := usable(t, w); err != nil {
		t.Error(err)
	}
	bundle := validating(t, w).Webhooks[0].ClientConfig.CABundle
	if block, rest := pem.Decode(bundle); block == nil || len(bytes.TrimSpace(rest)) > 0 {
		t.Errorf("the caBundle is not one authority:\n%s", bundle)
	}
	for _, r := range all {
		leaf, err := r.Leaf()
		if err == nil {
			err = certs.Trusts(bundle, leaf, dnsName, time.Now())
		}
		if err != nil {
			t.Errorf("the replica at %s: %v", r.Address, err)
		}
	}
}

// TestSecret_NoOther: while the Secret is not there, the account that may make it again
// makes nothing else of that: no other Secret, and none that would be given a token.
func TestSecret_NoOther(t *testing.T) {
	w := begin(t)
	c := w.As(t, world.WebhookUser, "system:serviceaccounts", "system:authenticated")
	apply := func(name string, kind corev1.SecretType) error {
		s := &unstructured.Unstructured{Object: map[string]any{"type": string(kind)}}
		s.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		s.SetNamespace(world.ReleaseNamespace)
		s.SetName(name)
		s.SetAnnotations(map[string]string{corev1.ServiceAccountNameKey: "teamspace-controller"})
		if kind == corev1.SecretTypeTLS {
			s.Object["data"] = map[string]any{corev1.TLSCertKey: "", corev1.TLSPrivateKeyKey: ""}
		}
		return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(s), client.FieldOwner("test"), client.DryRunAll)
	}
	if err := apply(secret().Name, corev1.SecretTypeTLS); err != nil {
		t.Errorf("its own: %v", err)
	}
	plain := secret()
	plain.Type, plain.Data = corev1.SecretTypeTLS, map[string][]byte{corev1.TLSCertKey: {}, corev1.TLSPrivateKeyKey: {}}
	for what, try := range map[string]func() error{
		"its own, by a plain create": func() error { return c.Create(t.Context(), plain.DeepCopy(), client.DryRunAll) },
		"one of another name":        func() error { return apply("other", corev1.SecretTypeTLS) },
		"one that holds a token":     func() error { return apply(secret().Name, corev1.SecretTypeServiceAccountToken) },
		"one of another type":        func() error { return apply(secret().Name, corev1.SecretTypeOpaque) },
	} {
		// An API server takes a moment to know of a policy.
		world.Eventually(t, world.Patience, what+" is forbidden", func() error {
			if err := try(); !apierrors.IsForbidden(err) {
				return errors.Join(err, errors.New("it is not"))
			}
			return nil
		})
	}
}

// usable returns an error unless the Secret holds a pair that can be served now.
func usable(t *testing.T, w *world.World) error {
	t.Helper()
	s := secret()
	if err := w.Client.Get(t.Context(), keyOf(s), s); err != nil {
		return err
	}
	pair := certs.Pair{CA: s.Data["ca.crt"], CAKey: s.Data["ca.key"], Leaf: s.Data[corev1.TLSCertKey], LeafKey: s.Data[corev1.TLSPrivateKeyKey]}
	if block, _ := pem.Decode(pair.CAKey); block == nil {
		return errors.New("it has no key of the authority")
	}
	_, err := pair.Certificate(dnsName, time.Now())
	return err
}

// TestSecret_AuthorityReplaced: a Secret with a good pair of another authority is taken
// over without a gap, since both are trusted meanwhile.
func TestSecret_AuthorityReplaced(t *testing.T) {
	w := begin(t)
	r := alone(t, w)
	before, l := unanswered(t, w), newLoad(t, w)
	began := time.Now()
	stop := l.start(t, 50, 8)
	another := issued(t, dnsName, time.Now())
	s := secret()
	w.Get(t, s)
	s.Data = map[string][]byte{"ca.crt": another.CA, "ca.key": another.CAKey, corev1.TLSCertKey: another.Leaf, corev1.TLSPrivateKeyKey: another.LeafKey}
	if err := w.Client.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	served, err := r.Leaf()
	if err != nil {
		t.Fatal(err)
	}
	world.Eventually(t, world.Patience, "another leaf is served", func() error {
		now, err := r.Leaf()
		if err == nil && now.SerialNumber.Cmp(served.SerialNumber) == 0 {
			err = errors.New("it is the same")
		}
		return err
	})
	world.Never(t, steady, "the replica is ready", r.Ready)
	stop()
	t.Log(l.tell(time.Since(began)))
	if l.failed.Load() > 0 || unanswered(t, w) > before {
		t.Errorf("%d writes were not judged, the API server counts %g", l.failed.Load(), unanswered(t, w)-before)
	}
}

// TestClock: a process that stands still until all that it has, the authority too, has
// expired puts that right by itself as soon as it goes on. For it the clock has jumped.
func TestClock(t *testing.T) {
	w := begin(t)
	const life = 6 * time.Second
	r := alone(t, w, "--certificate-lifetime="+life.String(), "--authority-lifetime="+(3*life).String())
	r.Signal(t, syscall.SIGSTOP)
	s := secret()
	w.Get(t, s)
	// The newest authority is the first one.
	block, _ := pem.Decode(s.Data["ca.crt"])
	world.Eventually(t, world.Patience, "all has expired", func() error {
		return expired(block.Bytes, time.Now())
	})
	r.Signal(t, syscall.SIGCONT)
	r.AwaitReady(t)
	w.AwaitServing(t)
	world.Eventually(t, world.Patience, "it serves a leaf that is good, and the metric says so", func() error {
		leaf, err := r.Leaf()
		if err != nil {
			return err
		}
		seconds, found := r.Metric(t, "teamspace_certificate_expiry_seconds", `certificate="served"`)
		if expired(leaf.Raw, time.Now()) == nil || !found || seconds <= 0 || seconds > life.Seconds() {
			return fmt.Errorf("it ends at %s, in %g s by the metric (there is such a metric: %t)", leaf.NotAfter, seconds, found)
		}
		return nil
	})
}
