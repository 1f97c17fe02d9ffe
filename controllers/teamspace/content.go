package teamspace

import (
	"context"
	"errors"
	"fmt"

	"gopkg.in/inf.v0"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
)

// errNamespaceGoing says that the namespace went away under the pass. The watch on
// namespaces brings the pass that makes it again.
var errNamespaceGoing = errors.New("the namespace is going away")

// ensureLimitRange keeps the default cpu request with which spec.pods plain pods fit
// the quota. Without it a cpu quota refuses every container that requests none.
func (r *Reconciler) ensureLimitRange(ctx context.Context, p *pass) (bool, error) {
	wanted, err := limitRangeSpec(p.ts.Spec)
	if err != nil {
		return false, err
	}
	current := &corev1.LimitRange{}
	found, err := r.find(ctx, p, v1alpha1.LimitRangeName, current)
	if err != nil || found && equality.Semantic.DeepEqual(current.Spec, wanted) {
		return err == nil, err
	}
	// The list of limits is atomic, so that an apply replaces all of it.
	item := corev1ac.LimitRangeItem().WithType(corev1.LimitTypeContainer).WithDefaultRequest(wanted.Limits[0].DefaultRequest)
	apply := corev1ac.LimitRange(v1alpha1.LimitRangeName, p.namespace.Name).WithSpec(corev1ac.LimitRangeSpec().WithLimits(item))
	if err := r.Apply(ctx, apply, fieldOwner, client.ForceOwnership); err != nil {
		return goingOr(err, "applying LimitRange %s/%s", p.namespace.Name, v1alpha1.LimitRangeName)
	}
	r.repaired(p, "LimitRange", causeOf(found))
	return true, nil
}

// limitRangeSpec gives each container without a cpu request floor(cpu / pods), in
// whole milli-cores.
func limitRangeSpec(spec v1alpha1.TeamSpaceSpec) (corev1.LimitRangeSpec, error) {
	cpu, err := cpuOf(spec)
	if err != nil {
		return corev1.LimitRangeSpec{}, err
	}
	const milli = 3 // decimal places
	share := new(inf.Dec).QuoRound(cpu.AsDec(), inf.NewDec(int64(spec.Pods), 0), milli, inf.RoundDown)
	return corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
		Type:           corev1.LimitTypeContainer,
		DefaultRequest: corev1.ResourceList{corev1.ResourceCPU: *resource.NewDecimalQuantity(*share, resource.DecimalSI)},
	}}}, nil
}

// cpuOf reads spec.cpu. The type's own rules have checked it, unless they were changed.
func cpuOf(spec v1alpha1.TeamSpaceSpec) (resource.Quantity, error) {
	cpu, err := resource.ParseQuantity(spec.CPU)
	if err != nil {
		return resource.Quantity{}, fmt.Errorf("reading spec.cpu %q: %w", spec.CPU, err)
	}
	return cpu, nil
}

// ensureQuota keeps the quota as declared, and notes what it counts and whether it is
// in force. Its spec is ours whole.
func (r *Reconciler) ensureQuota(ctx context.Context, p *pass) (bool, error) {
	wanted, err := quotaSpec(p.ts.Spec)
	if err != nil {
		return false, err
	}
	current := &corev1.ResourceQuota{}
	found, err := r.find(ctx, p, v1alpha1.QuotaName, current)
	if err != nil {
		return false, err
	}
	if found && equality.Semantic.DeepEqual(current.Spec, wanted) {
		p.observeQuota(current)
		return true, nil
	}
	p.set(v1alpha1.ConditionQuotaInForce, metav1.ConditionFalse, v1alpha1.ReasonAwaitingQuotaController, "the quota is being written")
	current, err = r.writeQuota(ctx, p.namespace.Name, current.Spec, wanted)
	if err != nil {
		return goingOr(err, "writing ResourceQuota %s/%s", p.namespace.Name, v1alpha1.QuotaName)
	}
	r.repaired(p, "ResourceQuota", causeOf(found))
	p.observeQuota(current)
	return true, nil
}

func quotaSpec(spec v1alpha1.TeamSpaceSpec) (corev1.ResourceQuotaSpec, error) {
	cpu, err := cpuOf(spec)
	if err != nil {
		return corev1.ResourceQuotaSpec{}, err
	}
	return corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
		corev1.ResourcePods:        *resource.NewQuantity(int64(spec.Pods), resource.DecimalSI),
		corev1.ResourceRequestsCPU: cpu,
	}}, nil
}

// writeQuota goes as far as it must: an apply repairs our fields, an update takes
// away what others put into the spec, and scopes, which the API lets nobody change,
// are undone by making the quota again. Any other refusal leaves the quota that is
// in force: an older limit is better than none.
func (r *Reconciler) writeQuota(ctx context.Context, namespace string, before, wanted corev1.ResourceQuotaSpec) (*corev1.ResourceQuota, error) {
	current, err := r.applyQuota(ctx, namespace, wanted)
	if err == nil && !equality.Semantic.DeepEqual(current.Spec, wanted) {
		current.Spec = wanted
		err = r.Update(ctx, current, fieldOwner)
	}
	scoped := len(before.Scopes) > 0 || before.ScopeSelector != nil
	if !apierrors.IsInvalid(err) || !scoped {
		return current, err
	}
	obstacle := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.QuotaName}}
	if err := r.Delete(ctx, obstacle); client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	return r.applyQuota(ctx, namespace, wanted)
}

func (r *Reconciler) applyQuota(ctx context.Context, namespace string, wanted corev1.ResourceQuotaSpec) (*corev1.ResourceQuota, error) {
	// A copy, because the client decodes the answer of the server into what it sent.
	hard := wanted.DeepCopy().Hard
	apply := corev1ac.ResourceQuota(v1alpha1.QuotaName, namespace).WithSpec(corev1ac.ResourceQuotaSpec().WithHard(hard))
	if err := r.Apply(ctx, apply, fieldOwner, client.ForceOwnership); err != nil {
		return nil, err
	}
	// The client waits until the cache shows its own write.
	current := &corev1.ResourceQuota{}
	err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v1alpha1.QuotaName}, current)
	return current, err
}

// observeQuota notes the quota's count and whether the quota controller has taken it
// up: applied and in force are two different things.
func (p *pass) observeQuota(quota *corev1.ResourceQuota) {
	if len(quota.Status.Used) > 0 {
		p.status.Used = quota.Status.Used.DeepCopy()
	}
	if !equality.Semantic.DeepEqual(quota.Status.Hard, quota.Spec.Hard) {
		p.set(v1alpha1.ConditionQuotaInForce, metav1.ConditionFalse, v1alpha1.ReasonAwaitingQuotaController,
			"the quota is applied; the quota controller of kube-controller-manager does not enforce it yet")
		return
	}
	p.set(v1alpha1.ConditionQuotaInForce, metav1.ConditionTrue, v1alpha1.ReasonEnforced,
		fmt.Sprintf("the quota of %d pods and %s cpu is enforced", p.ts.Spec.Pods, p.ts.Spec.CPU))
}

// find reads an object of the team's namespace from the cache.
func (r *Reconciler) find(ctx context.Context, p *pass, name string, into client.Object) (bool, error) {
	err := r.Get(ctx, client.ObjectKey{Namespace: p.namespace.Name, Name: name}, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s/%s: %w", p.namespace.Name, name, err)
	}
	return true, nil
}

// goingOr turns the failures of a namespace that went away meanwhile into
// errNamespaceGoing, and gives all others a context.
func goingOr(err error, format string, args ...any) (bool, error) {
	if apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false, errNamespaceGoing
	}
	return false, fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}
