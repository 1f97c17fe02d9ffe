package teamspace

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/api/v1alpha1"
)

func TestLimitRangeSpec_sharesTheCPU(t *testing.T) {
	tests := map[string]struct {
		cpu  string
		pods int32
		want string
	}{
		"an even share":                    {"1", 5, "200m"},
		"rounded down to a milli-core":     {"1", 3, "333m"},
		"the least there is":               {"50m", 50, "1m"},
		"below a milli-core more for each": {"1.9m", 1, "1m"},
		"a whole core and more":            {"10", 3, "3333m"},
		"an exponent":                      {"1e0", 4, "250m"},
		"a binary suffix":                  {"1Ki", 1, "1024"},
		"more than an int64 of milli":      {"9e18", 1, "9e18"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			spec, err := limitRangeSpec(v1alpha1.TeamSpaceSpec{CPU: tc.cpu, Pods: tc.pods})
			if err != nil {
				t.Fatal(err)
			}
			got := spec.Limits[0].DefaultRequest[corev1.ResourceCPU]
			if want := resource.MustParse(tc.want); got.Cmp(want) != 0 {
				t.Errorf("share of %s for %d pods = %s, want %s", tc.cpu, tc.pods, got.String(), tc.want)
			}
		})
	}
}

func TestQuotaSpec_isTheSameForEverySpelling(t *testing.T) {
	want, err := quotaSpec(v1alpha1.TeamSpaceSpec{CPU: "1", Pods: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, cpu := range []string{"1000m", "1.0", "1e0", "1000000u"} {
		got, err := quotaSpec(v1alpha1.TeamSpaceSpec{CPU: cpu, Pods: 2})
		if err != nil {
			t.Fatal(err)
		}
		if !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("quota of %q = %v, want it equal to that of \"1\"", cpu, got)
		}
	}
}

func TestSpec_unreadableCPU(t *testing.T) {
	spec := v1alpha1.TeamSpaceSpec{CPU: "abc", Pods: 1}
	if _, err := quotaSpec(spec); err == nil {
		t.Error("quotaSpec took cpu abc")
	}
	if _, err := limitRangeSpec(spec); err == nil {
		t.Error("limitRangeSpec took cpu abc")
	}
}

func TestObserveQuota(t *testing.T) {
	hard := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}
	used := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}
	tests := map[string]struct {
		quota corev1.ResourceQuota
		want  metav1.ConditionStatus
	}{
		"applied only": {corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: hard}}, metav1.ConditionFalse},
		"an earlier limit is in force": {corev1.ResourceQuota{
			Spec:   corev1.ResourceQuotaSpec{Hard: hard},
			Status: corev1.ResourceQuotaStatus{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")}, Used: used},
		}, metav1.ConditionFalse},
		"taken up": {corev1.ResourceQuota{
			Spec:   corev1.ResourceQuotaSpec{Hard: hard},
			Status: corev1.ResourceQuotaStatus{Hard: hard, Used: used},
		}, metav1.ConditionTrue},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := &pass{ts: teamSpace()}
			p.observeQuota(&tc.quota)
			if got := p.condition(v1alpha1.ConditionQuotaInForce).Status; got != tc.want {
				t.Errorf("QuotaInForce = %s, want %s", got, tc.want)
			}
			if !equality.Semantic.DeepEqual(p.status.Used, tc.quota.Status.Used) {
				t.Errorf("used = %v, want %v", p.status.Used, tc.quota.Status.Used)
			}
		})
	}
}

func TestObserveQuota_keepsTheLastCount(t *testing.T) {
	p := &pass{ts: teamSpace()}
	p.status.Used = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("4")}
	p.observeQuota(&corev1.ResourceQuota{}) // made again, not counted yet
	if got := p.status.Used[corev1.ResourcePods]; got.Value() != 4 {
		t.Errorf("used pods = %s, want the 4 that were counted last", got.String())
	}
}
