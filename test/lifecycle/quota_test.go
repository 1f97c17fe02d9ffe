package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// plainPod asks for nothing. No node runs it; the quota counts it all the same.
func plainPod(namespace string, i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("plain-%d", i)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "localhost/app:1"}}},
	}
}

// member returns the client of an ordinary user who may edit in a namespace.
func member(t *testing.T, w *world.World, namespace string) client.Client {
	t.Helper()
	w.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "members"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "member"}},
	})
	return w.As(t, "member", "system:authenticated")
}

// awaitUsed waits until the status of a TeamSpace tells of so many pods and so much cpu.
func awaitUsed(t *testing.T, w *world.World, teamSpace, pods, cpu string) {
	t.Helper()
	w.AwaitTeamSpace(t, teamSpace, fmt.Sprintf("status.used is %s pods and %s cpu", pods, cpu), func(ts *v1alpha1.TeamSpace) bool {
		used := ts.Status.Used
		return used.Pods().String() == pods && used.Name(corev1.ResourceRequestsCPU, "").String() == cpu
	})
}

func TestQuota_AdmitsSoManyPlainPods(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	w.Serve(t, world.TeamSpace("plain", 3, "1"))
	c := member(t, w, "team-plain")

	// The first one waits for what Kubernetes itself puts into a new namespace: the
	// permission has to be known, and the service account there.
	world.Eventually(t, world.Patience, "a plain pod is accepted", func() error { return c.Create(t.Context(), plainPod("team-plain", 0)) })
	for i := 1; i < 3; i++ {
		if err := c.Create(t.Context(), plainPod("team-plain", i)); err != nil {
			t.Fatalf("pod %d of 3: %v", i+1, err)
		}
	}
	err := c.Create(t.Context(), plainPod("team-plain", 3))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: team-quota") {
		t.Errorf("the fourth pod: %v, want that it exceeds the quota", err)
	}
	awaitUsed(t, w, "plain", "3", "999m")

	pod := plainPod("team-plain", 0)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		t.Fatal(err)
	}
	if got := pod.Spec.Containers[0].Resources.Requests.Cpu().String(); got != "333m" {
		t.Errorf("the pod requests %s cpu, want 333m", got)
	}
	if err := c.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	awaitUsed(t, w, "plain", "2", "666m")
}

func TestQuota_RefusesMoreCPU(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	w.Serve(t, world.TeamSpace("greedy", 3, "1"))
	c := member(t, w, "team-greedy")
	world.Eventually(t, world.Patience, "a plain pod is accepted", func() error { return c.Create(t.Context(), plainPod("team-greedy", 0)) })
	pod := plainPod("team-greedy", 1)
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("900m")}
	if err := c.Create(t.Context(), pod); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: team-quota") {
		t.Errorf("a pod of 900m: %v, want that it exceeds the quota", err)
	}
}
