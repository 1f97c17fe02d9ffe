package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/certmanager"
	"labhub.io/teamspace/test/helm"
	"labhub.io/teamspace/test/world"
)

// certManager is what all of cert-manager is called.
const certManager = "cert-manager"

// late is how long the pods of cert-manager come after its types.
const late = time.Minute

// TestCertManager: the certificates are those of the real cert-manager, which comes late at first,
// and is there already when the chart is installed once more.
func TestCertManager(t *testing.T) {
	w := lab.World(t)
	deployCertManager(t, w)
	for _, c := range []struct {
		name    string
		install func(*testing.T, *world.World)
	}{
		{"its pods come a minute after its types", installBeforeCertManager},
		{"it is there", installAfterCertManager},
	} {
		t.Run(c.name, func(t *testing.T) {
			begin(t)
			c.install(t, w)
			awaitPods(t, w, "webhook")
			w.AwaitServing(t)
			wantDenied(t, w)
			w.Serve(t, world.TeamSpace("certified", 1, "1"))
			mustTest(t, w)
		})
	}
}

// withCertManager are the flags of helm. What no webhook judges is refused, so that nothing may
// ask one that has no certificate.
var withCertManager = []string{brief, "--set=certs.provider=cert-manager,guard.failurePolicy=Fail"}

// installBeforeCertManager installs while nobody issues certificates, which helm waits for, and
// nobody else: no write is refused or denied meanwhile.
func installBeforeCertManager(t *testing.T, w *world.World) {
	args := command(t, w, "install", helm.Chart(t), withCertManager...)
	ended := make(chan error, 1)
	go func() {
		out, err := helm.Four.Run(t.Context(), t, args...)
		if err != nil {
			err = fmt.Errorf("helm install: %w\n%s", err, out)
		}
		ended <- err
	}()
	awaitRunning(t, w, "webhook")
	during(t, w, "cert-manager is away", func() {
		world.Never(t, late, "helm waits", func() error {
			select {
			case err := <-ended:
				return errors.Join(errors.New("it did not"), err)
			default:
			}
			if err := tryWrong(t, w); err != nil {
				return fmt.Errorf("a write that nobody can judge was refused: %w", err)
			}
			return nil
		})
	})
	w.MustKubectl(t, "-n", certManager, "scale", "deployment/"+certManager, "--replicas=1")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// installAfterCertManager installs where certificates are issued at once.
func installAfterCertManager(t *testing.T, w *world.World) { must(t, w, "install", withCertManager...) }

// awaitRunning waits until the manager runs in all pods of a Deployment, ready or not.
func awaitRunning(t *testing.T, w *world.World, of string) {
	t.Helper()
	world.Eventually(t, podPatience, of+" runs", func() error {
		running := 0
		for _, pod := range pods(t, w, of) {
			for _, c := range pod.Status.ContainerStatuses {
				if c.State.Running != nil {
					running++
				}
			}
		}
		if running != replicas {
			return fmt.Errorf("%d containers run, want %d", running, replicas)
		}
		return nil
	})
}

// deployCertManager makes all of cert-manager but its pods, and has it gone after the test.
func deployCertManager(t *testing.T, w *world.World) {
	t.Helper()
	types, err := certmanager.InstallTypes(t.Context(), w.Client)
	t.Cleanup(func() {
		remove(context.WithoutCancel(t.Context()), t, w, append(types, certManagerObjects()...)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Create(t, certManagerObjects()...)
}

// certManagerObjects are a Deployment that may do anything, and what that needs.
func certManagerObjects() []client.Object {
	own := metav1.ObjectMeta{Namespace: certManager, Name: certManager}
	labels := map[string]string{"app": certManager}
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: certManager}},
		&corev1.ServiceAccount{ObjectMeta: own},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: certManager},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: certManager, Name: certManager}},
		},
		&appsv1.Deployment{ObjectMeta: own, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					ServiceAccountName: certManager,
					Containers:         []corev1.Container{{Name: certManager, Image: "localhost/cert-manager:test"}},
				},
			},
		}},
	}
}
