package crash

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/proxy"
	"labhub.io/teamspace/test/world"
)

// scenario is something that the manager has to do, with all writes that it takes.
type scenario struct {
	name string

	// setup, if set, is done once for all runs, and undone at their end.
	setup func(*testing.T, *bench)

	// prepare, if set, makes what is there before, while a manager runs.
	prepare func(*testing.T, *bench, string)

	// act is what makes the manager write. No manager runs meanwhile.
	act func(*testing.T, *bench, string)

	// steps are the writes at which it is killed. Those that are there or not, as the
	// controllers of Kubernetes are slower or faster, are in sometimes. At the others it
	// is killed in another scenario.
	steps, sometimes, others []step

	// done returns nil when the manager has nothing more to do.
	done func(*testing.T, *bench, string) error
}

// knows says whether a write is one of the steps, and notes of which.
func (s scenario) knows(r *proxy.Request, teamSpace string, seen map[string]bool) bool {
	known := false
	for _, steps := range [][]step{s.steps, s.sometimes, s.others} {
		for _, step := range steps {
			if step.match(r, teamSpace) {
				known, seen[step.name] = true, true
			}
		}
	}
	return known
}

// scenarios are ordered: the last one takes the type away from all others.
var scenarios = []scenario{
	{
		name:      "served",
		act:       create,
		steps:     []step{finalizerAdded, namespaceMade, limitsApplied, quotaApplied, statusReady},
		sometimes: []step{statusNotReady},
		done:      ready,
	},
	{
		name:      "changed",
		prepare:   serve,
		act:       func(t *testing.T, b *bench, name string) { b.Patch(t, teamSpace(name), `{"spec": {"pods": 3}}`) },
		steps:     []step{limitsApplied, quotaApplied, statusReady},
		sometimes: []step{statusNotReady},
		done:      ready,
	},
	{
		name: "adopted",
		act: func(t *testing.T, b *bench, name string) {
			ns := world.TeamNamespace(name)
			ns.Annotations = map[string]string{v1alpha1.AnnotationAdopt: name}
			b.Create(t, ns, teamSpace(name))
		},
		steps:  []step{namespaceMended},
		others: []step{finalizerAdded, limitsApplied, quotaApplied, statusNotReady, statusReady},
		done:   ready,
	},
	{
		name: "in conflict",
		act: func(t *testing.T, b *bench, name string) {
			b.Create(t, world.TeamNamespace(name), teamSpace(name))
		},
		steps:  []step{statusStalled},
		others: []step{finalizerAdded},
		done:   stalled,
	},
	{
		name:    "a quota with more in it",
		prepare: serve,
		act: func(t *testing.T, b *bench, name string) {
			b.Patch(t, world.Quota(name), `{"spec": {"hard": {"secrets": "1"}}}`)
		},
		steps:  []step{quotaApplied, quotaUpdated},
		others: []step{statusNotReady, statusReady},
		done:   ready,
	},
	{
		name:    "a quota with a scope",
		prepare: serve,
		act:     scope,
		steps:   []step{quotaUpdated, quotaDeleted},
		others:  []step{quotaApplied, statusNotReady, statusReady},
		done:    ready,
	},
	{
		name:    "deleted",
		prepare: serve,
		act: func(t *testing.T, b *bench, name string) {
			b.Delete(t, teamSpace(name))
			b.leaving = append(b.leaving, name)
		},
		steps:  []step{statusLeaving, recordWritten, statusArchived, finalizerRemoved},
		others: []step{recordAgain},
		done:   func(t *testing.T, b *bench, name string) error { return absent(t, b, teamSpace(name)) },
	},
	{
		name:    "made again over a stale reference",
		setup:   func(t *testing.T, b *bench) { b.Stop(t, world.ControllerManager) }, // the collector must not be faster
		prepare: serveUnforced,
		act:     remake,
		steps:   []step{staleDropped, statusStalled},
		others:  []step{finalizerAdded, statusNotReady},
		done:    stalled,
	},
	{
		name:    "the type is removed",
		setup:   func(t *testing.T, b *bench) { b.keepType(t) },
		prepare: serveAgain,
		act:     func(t *testing.T, b *bench, _ string) { b.Delete(t, b.crd.DeepCopy()) },
		steps:   []step{namespaceFreed},
		others:  []step{statusLeaving, recordWritten, statusArchived, recordAgain, finalizerRemoved, ofOthers},
		done:    func(t *testing.T, b *bench, _ string) error { return absent(t, b, b.crd.DeepCopy()) },
	},
}

func teamSpace(name string) *v1alpha1.TeamSpace { return world.TeamSpace(name, 2, "1") }

func create(t *testing.T, b *bench, name string) { b.Create(t, teamSpace(name)) }

func serve(t *testing.T, b *bench, name string) { b.Serve(t, teamSpace(name)) }

// serveUnforced is as far as it goes with no quota controller.
func serveUnforced(t *testing.T, b *bench, name string) {
	b.Create(t, teamSpace(name))
	b.AwaitCondition(t, name, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonAwaitingQuotaController)
}

// remake deletes a TeamSpace without its finalizer and makes it again under another uid,
// as a restore would.
func remake(t *testing.T, b *bench, name string) {
	b.Patch(t, teamSpace(name), `{"metadata": {"finalizers": null}}`)
	b.Delete(t, teamSpace(name))
	b.Create(t, teamSpace(name))
}

// scope puts another quota into the place of ours, with what nobody can take away again.
func scope(t *testing.T, b *bench, name string) {
	b.Delete(t, world.Quota(name))
	quota := world.Quota(name)
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("99")}
	quota.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotTerminating}
	b.Create(t, quota)
}

// keepType remembers the type, so that each run can make it again.
func (b *bench) keepType(t *testing.T) {
	b.crd = &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.CRDName}}
	b.Get(t, b.crd)
}

// serveAgain serves a TeamSpace of a type that may be gone.
func serveAgain(t *testing.T, b *bench, name string) {
	again := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: b.crd.Name}, Spec: b.crd.Spec}
	if err := b.Client.Create(t.Context(), again); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	world.Eventually(t, world.Patience, "the type is served", func() error {
		return client.IgnoreAlreadyExists(b.Client.Create(t.Context(), teamSpace(name)))
	})
	b.run(t) // the manager of before may still wait for the type
	b.AwaitReady(t, name)
}

func ready(t *testing.T, b *bench, name string) error {
	ts := teamSpace(name)
	if err := b.Client.Get(t.Context(), client.ObjectKeyFromObject(ts), ts); err != nil {
		return err
	}
	quota := world.Quota(name)
	if err := b.Client.Get(t.Context(), client.ObjectKeyFromObject(quota), quota); err != nil {
		return err
	}
	// What the status says may be of before the scenario.
	asDeclared := quota.Spec.Hard.Pods().Value() == int64(ts.Spec.Pods) && len(quota.Spec.Hard) == 2 && len(quota.Spec.Scopes) == 0
	if !world.IsReady(ts) || !asDeclared {
		return fmt.Errorf("status %+v, quota %+v", ts.Status, quota.Spec)
	}
	return nil
}

func stalled(t *testing.T, b *bench, name string) error {
	ts := teamSpace(name)
	if err := b.Client.Get(t.Context(), client.ObjectKeyFromObject(ts), ts); err != nil {
		return err
	}
	if !meta.IsStatusConditionTrue(ts.Status.Conditions, v1alpha1.ConditionStalled) {
		return fmt.Errorf("status %+v", ts.Status)
	}
	return nil
}

func absent(t *testing.T, b *bench, object client.Object) error {
	err := b.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	return fmt.Errorf("it is there, finalizers %q (%w)", object.GetFinalizers(), err)
}
