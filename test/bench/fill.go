package bench

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	namespaces = 50
	// writers is how many objects are created at once.
	writers = 16
	// wrongEvery: one dependent of so many has an owner that does not exist.
	wrongEvery = 5000
)

// Filler makes objects, always more of them.
type Filler struct {
	client client.Client
	made   int
	owners [namespaces]metav1.OwnerReference

	findings map[string]string // what the audit has to find, by object
}

// NewFiller makes the namespaces, an owner in each, and a reference of every kind that is
// wrong.
func NewFiller(ctx context.Context, c client.Client) (*Filler, error) {
	f := &Filler{client: c, findings: map[string]string{}}
	for i := range namespaces {
		if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(i)}}); err != nil {
			return nil, err
		}
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(i), Name: "owner"}}
		if err := c.Create(ctx, owner); err != nil {
			return nil, err
		}
		f.owners[i] = metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}
	}
	f.made = 2 * namespaces
	return f, f.plant(ctx)
}

func namespaceOf(i int) string { return fmt.Sprintf("bench-%02d", i%namespaces) }

// To makes objects until there are so many.
func (f *Filler) To(ctx context.Context, objects int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := f.made; i < objects; i++ {
		if i%wrongEvery == wrongEvery-1 {
			f.findings[nameOf("Lease", namespaceOf(i), nameOfDependent(i))] = "error R11"
		}
		group.Go(func() error { return f.client.Create(ctx, f.object(i)) })
	}
	f.made = max(f.made, objects)
	return group.Wait()
}

// Findings are what the audit has to find, by object, and no more.
func (f *Filler) Findings() map[string]string { return f.findings }

func nameOfDependent(i int) string { return fmt.Sprintf("dependent-of-the-owner-%06d", i) }

// object is one of four types, with an owner, labels and annotations as objects have them.
func (f *Filler) object(i int) client.Object {
	owner := f.owners[i%namespaces]
	if i%wrongEvery == wrongEvery-1 {
		owner.Name, owner.UID = "ghost", types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i))
	}
	meta := metav1.ObjectMeta{
		Namespace: namespaceOf(i), Name: nameOfDependent(i), OwnerReferences: []metav1.OwnerReference{owner},
		Labels:      map[string]string{"app.kubernetes.io/name": "bench", "app.kubernetes.io/instance": fmt.Sprint(i), "app.kubernetes.io/managed-by": "bench"},
		Annotations: map[string]string{"bench.example/checksum": fmt.Sprintf("%064d", i)},
	}
	switch i % 4 {
	case 0:
		return &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"key": "value"}}
	case 1:
		return &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"key": "value"}}
	case 2:
		return &corev1.ServiceAccount{ObjectMeta: meta}
	default:
		return &coordinationv1.Lease{ObjectMeta: meta}
	}
}
