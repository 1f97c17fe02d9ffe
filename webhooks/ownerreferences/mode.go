package ownerreferences

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"labhub.io/teamspace/api/v1alpha1"
)

// Mode says what becomes of a verdict, as in Pod Security admission.
type Mode string

// The modes, from the strictest to the mildest.
const (
	// Enforce denies what is proven wrong and warns of what is doubtful.
	Enforce Mode = "enforce"

	// Warn allows everything and warns of it.
	Warn Mode = "warn"

	// Audit allows everything in silence; the verdict is counted, and stands in the
	// API server's audit log.
	Audit Mode = "audit"

	// Off judges nothing.
	Off Mode = "off"
)

// ParseMode reads a mode.
func ParseMode(text string) (Mode, error) {
	if mode := Mode(text); slices.Contains([]Mode{Enforce, Warn, Audit, Off}, mode) {
		return mode, nil
	}
	return "", fmt.Errorf("mode %q: want %s, %s, %s or %s", text, Enforce, Warn, Audit, Off)
}

// modes finds the mode for an object: that of the label of its namespace, or else
// the cluster's. The label speaks for what is in the namespace; cluster-scoped
// objects, namespaces themselves included, follow the cluster's mode, so that no
// manifest can choose the mode in which it is judged.
type modes struct {
	namespaces client.Reader // a cache will do: a changed label is seen at once
	cluster    Mode
}

func (m modes) of(ctx context.Context, namespace string) Mode {
	if namespace == "" {
		return m.cluster
	}
	ns := Namespace()
	if err := m.namespaces.Get(ctx, client.ObjectKey{Name: namespace}, ns); err != nil {
		if !apierrors.IsNotFound(err) { // it was made just now; a label counts within two seconds
			logf.FromContext(ctx).Error(err, "The mode of the namespace is not known, that of the cluster counts", "namespace", namespace)
		}
		return m.cluster
	}
	mode, err := ParseMode(ns.Labels[v1alpha1.LabelGuardMode])
	if err != nil {
		return m.cluster
	}
	return mode
}

// Namespace is a namespace as far as the guard reads one: its metadata.
func Namespace() *metav1.PartialObjectMetadata {
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return ns
}
