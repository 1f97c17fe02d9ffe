package world

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Sandbox is the path of the sandbox's program.
func (w *World) Sandbox() string { return w.Binary("sandbox") }

// Binary is the path of a program of bin/.
func (w *World) Binary(name string) string { return filepath.Join(w.root, "bin", name) }

// AwaitServing waits until the guard denies: after the manager was away, or hung, the
// API server may go on for a moment as if it still were.
func (w *World) AwaitServing(t testing.TB) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // it may be a clean-up that waits
	Eventually(t, Patience, "the guard denies", func() error {
		probe := &corev1.ConfigMap{}
		probe.Namespace, probe.Name = "default", "guard-probe"
		probe.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Namespace", Name: "default", UID: "00000000-0000-0000-0000-000000000000",
		}}
		err := w.Client.Create(ctx, probe, client.DryRunAll)
		if apierrors.IsForbidden(err) {
			return nil
		}
		return errors.Join(errors.New("it does not"), err)
	})
}
