package bench

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nobody is the uid of nothing.
const nobody = types.UID("00000000-0000-0000-0000-000000000000")

// change makes one reference out of another.
type change func(*metav1.OwnerReference)

func uid(uid types.UID) change {
	return func(r *metav1.OwnerReference) { r.UID = uid }
}

func named(name string) change {
	return func(r *metav1.OwnerReference) { r.Name = name }
}

func kind(apiVersion, kind string) change {
	return func(r *metav1.OwnerReference) { r.APIVersion, r.Kind = apiVersion, kind }
}

// plants are references that are wrong, each in its own way, by the name of the Secret that
// has them: as changes of a reference that is right, and what the audit has to call them.
var plants = map[string]struct {
	changes []change
	finding string
}{
	"wrong-uid":       {[]change{uid(nobody)}, "error R11"},
	"missing-owner":   {[]change{func(r *metav1.OwnerReference) { r.Name, r.UID = "missing", nobody }}, "error R11"},
	"wrong-name":      {[]change{named("other")}, "error R15"},
	"wrong-kind":      {[]change{kind("v1", "ServiceAccount")}, "error R15"},
	"list-kind":       {[]change{kind("v1", "ConfigMapList")}, "error R15"},
	"unresolvable":    {[]change{kind("nowhere.example/v1", "Gizmo")}, "warning R06"},
	"unserved":        {[]change{kind("v2", "ConfigMap")}, "warning R06"},
	"twins-one-wrong": {[]change{func(*metav1.OwnerReference) {}, named("other")}, "error R16"},
}

// plant makes one of each, and what takes more than a Secret: an owner in another namespace,
// an owner in any namespace for what is in none, an object that owns itself, and a cycle.
func (f *Filler) plant(ctx context.Context) error {
	for name, p := range plants {
		var refs []metav1.OwnerReference
		for _, change := range p.changes {
			ref := f.owners[0]
			change(&ref)
			refs = append(refs, ref)
		}
		if err := f.wrong(ctx, "Secret", secret(name, refs...), p.finding); err != nil {
			return err
		}
	}
	if err := f.wrong(ctx, "Secret", secret("other-namespace", f.owners[1]), "error R13"); err != nil {
		return err
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "cluster-scoped", OwnerReferences: f.owners[:1]}}
	if err := f.wrong(ctx, "ClusterRole", role, "error R05"); err != nil {
		return err
	}
	itself, one, two := secret("itself"), secret("one"), secret("two")
	for o, finding := range map[*corev1.Secret]string{itself: "info R18", one: "info R19", two: "info R19"} {
		if err := f.wrong(ctx, "Secret", o, finding); err != nil {
			return err
		}
	}
	for dependent, owner := range map[*corev1.Secret]*corev1.Secret{itself: itself, one: two, two: one} {
		dependent.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: owner.Name, UID: owner.UID}}
		if err := f.client.Update(ctx, dependent); err != nil {
			return err
		}
	}
	return nil
}

func secret(name string, refs ...metav1.OwnerReference) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(0), Name: name, OwnerReferences: refs}}
}

// wrong makes an object of which the audit has to find just this.
func (f *Filler) wrong(ctx context.Context, kind string, o client.Object, finding string) error {
	f.findings[nameOf(kind, o.GetNamespace(), o.GetName())] = finding
	f.made++
	if err := f.client.Create(ctx, o); err != nil {
		return fmt.Errorf("planting %s: %w", o.GetName(), err)
	}
	return nil
}

func nameOf(kind, namespace, name string) string {
	return fmt.Sprintf("%s %s/%s", kind, namespace, name)
}
