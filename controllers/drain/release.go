package drain

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
)

// pageSize bounds what one answer holds.
const pageSize = 500

// release goes once over all that is there, and counts what it changed. One TeamSpace that
// cannot be released does not keep it from the others.
func (d *Drain) release(ctx context.Context) (changed int, err error) {
	typeGoes, err := d.releaser.TypeGoes(ctx)
	if err != nil {
		return 0, err
	}
	var failed []error
	err = d.teamSpaces(ctx, func(ts *v1alpha1.TeamSpace) error {
		did, err := d.do(ctx, decide(d.options.Policy, typeGoes, ts), ts)
		if did {
			changed++
		}
		failed = append(failed, client.IgnoreNotFound(err))
		return nil
	})
	failed = append(failed, err)
	if typeGoes {
		disowned, err := d.disown(ctx)
		changed += disowned
		failed = append(failed, err)
	}
	return changed, errors.Join(failed...)
}

func (d *Drain) do(ctx context.Context, what action, ts *v1alpha1.TeamSpace) (changed bool, err error) {
	told := ""
	switch what {
	case letGo:
		changed, told, err = true, "Archived a TeamSpace that is being deleted, and let it go", d.releaser.LetGo(ctx, ts)
	case remove:
		changed, told, err = true, "Archived and deleted a TeamSpace", d.remove(ctx, ts)
	case free:
		changed, err = d.releaser.Free(ctx, ts)
		told = "Released a TeamSpace and its namespace"
	case leave:
	}
	if changed && err == nil {
		d.log.Info(told, "teamspace", ts.Name, "namespace", v1alpha1.NamespaceFor(ts.Name))
	}
	return changed, err
}

// remove deletes a TeamSpace and lets it go at once. Our finalizer is on it before, or it
// would be gone without a record.
func (d *Drain) remove(ctx context.Context, ts *v1alpha1.TeamSpace) error {
	if err := d.releaser.Hold(ctx, ts); err != nil {
		return err
	}
	uid := ts.UID
	err := d.client.Delete(ctx, ts, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil {
		return fmt.Errorf("deleting TeamSpace %q: %w", ts.Name, err)
	}
	current := &v1alpha1.TeamSpace{}
	if err := d.client.Get(ctx, client.ObjectKeyFromObject(ts), current); err != nil {
		return fmt.Errorf("reading TeamSpace %q: %w", ts.Name, err)
	}
	if decide(d.options.Policy, false, current) != letGo {
		return nil // the next round sees what it is now
	}
	return d.releaser.LetGo(ctx, current)
}

// teamSpaces calls do with each TeamSpace; there are none where the type is gone.
func (d *Drain) teamSpaces(ctx context.Context, do func(*v1alpha1.TeamSpace) error) error {
	page := &v1alpha1.TeamSpaceList{}
	for {
		err := d.client.List(ctx, page, client.Limit(pageSize), client.Continue(page.Continue))
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listing TeamSpaces: %w", err)
		}
		for i := range page.Items {
			if err := do(&page.Items[i]); err != nil {
				return err
			}
		}
		if page.Continue == "" {
			return nil
		}
	}
}

// disown spares the namespaces that name a TeamSpace as owner where the type goes or is
// gone. Those of TeamSpaces that are still there have been released before.
func (d *Drain) disown(ctx context.Context) (changed int, err error) {
	page := &metav1.PartialObjectMetadataList{}
	page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	var failed []error
	for {
		if err := d.client.List(ctx, page, client.Limit(pageSize), client.Continue(page.Continue)); err != nil {
			return changed, errors.Join(append(failed, fmt.Errorf("listing namespaces: %w", err))...)
		}
		for i := range page.Items {
			ns := &page.Items[i]
			ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
			dropped, err := d.releaser.Disown(ctx, ns)
			if dropped {
				changed++
				d.log.Info("Releasing a namespace whose TeamSpace goes with its type", "namespace", ns.Name)
			}
			failed = append(failed, client.IgnoreNotFound(err))
		}
		if page.Continue == "" {
			return changed, errors.Join(failed...)
		}
	}
}
