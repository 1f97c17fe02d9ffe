package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/world"
)

// monitoring is the namespace from where metrics may be read.
const monitoring = "e2e-monitoring"

// TestNetworkPolicies: the chart's policies leave its pods what they need and nothing else. The
// node enforces them; that it does is seen when they are turned off.
func TestNetworkPolicies(t *testing.T) {
	w := begin(t)
	scraper, stranger := idlePod(t, w, monitoring), idlePod(t, w, "e2e-strangers")
	must(t, w, "install", `--set-json=networkPolicy.metricsFrom=[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"`+monitoring+`"}}}]`)
	awaitPods(t, w, "controller")
	awaitPods(t, w, "webhook")
	w.AwaitServing(t)
	wantDenied(t, w)
	w.Serve(t, world.TeamSpace("behind-policies", 1, "1"))
	awaitPaths(t, "with the policies", paths(t, w, scraper, stranger, false))

	must(t, w, "upgrade", "--set=networkPolicy.enabled=false")
	awaitPods(t, w, "controller")
	awaitPods(t, w, "webhook")
	awaitPaths(t, "without them", paths(t, w, scraper, stranger, true))
}

// kubelet is the port of the node's.
const kubelet = "10250"

// path is one from a pod to a port.
type path struct {
	name    string
	from    corev1.Pod
	to      string
	reached bool
}

// paths are those that matter; open is whether those are too that the policies close.
func paths(t *testing.T, w *world.World, scraper, stranger corev1.Pod, open bool) []path {
	t.Helper()
	webhook, controller := pods(t, w, "webhook")[0], pods(t, w, "controller")[0]
	server, err := url.Parse(w.Admin.Host)
	if err != nil {
		t.Fatal(err)
	}
	return []path{
		// As an API server elsewhere: its address is that of no pod that a policy knows.
		{name: "a stranger to the webhooks", from: stranger, to: portOf(t, webhook, "webhooks"), reached: true},
		{name: "a stranger to the probes", from: stranger, to: portOf(t, controller, "probes"), reached: true},
		{name: "monitoring to the controller's metrics", from: scraper, to: portOf(t, controller, "metrics"), reached: true},
		{name: "monitoring to the webhooks' metrics", from: scraper, to: portOf(t, webhook, "metrics"), reached: true},
		{name: "a stranger to the controller's metrics", from: stranger, to: portOf(t, controller, "metrics"), reached: open},
		{name: "a stranger to the webhooks' metrics", from: stranger, to: portOf(t, webhook, "metrics"), reached: open},
		{name: "a webhook to the API server", from: webhook, to: server.Host, reached: true},
		{name: "a controller to the API server", from: controller, to: server.Host, reached: true},
		{name: "a webhook to the webhooks", from: webhook, to: portOf(t, pods(t, w, "webhook")[1], "webhooks"), reached: true},
		{name: "a controller to the webhooks", from: controller, to: portOf(t, webhook, "webhooks"), reached: open},
		// Not to the controller's probes: the enforcer has one list for both directions of a policy,
		// and between two pods of the same one what may come in may go out.
		{name: "a webhook to the kubelet", from: webhook, to: net.JoinHostPort(server.Hostname(), kubelet), reached: open},
		{name: "a controller to the kubelet", from: controller, to: net.JoinHostPort(server.Hostname(), kubelet), reached: open},
	}
}

// portOf is the address of a port of the pod, by its name.
func portOf(t *testing.T, pod corev1.Pod, name string) string {
	t.Helper()
	for _, port := range pod.Spec.Containers[0].Ports {
		if port.Name == name {
			return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port.ContainerPort)))
		}
	}
	t.Fatalf("pod %s has no port %s", pod.Name, name)
	return ""
}

// awaitPaths waits until what is reached is what is to be: the node makes rules in its own time.
func awaitPaths(t *testing.T, when string, all []path) {
	t.Helper()
	world.Eventually(t, podPatience, when+" all paths are as they should be", func() error {
		var wrong []error
		for _, p := range all {
			if got := reaches(t, p.from, p.to); got != p.reached {
				wrong = append(wrong, fmt.Errorf("%s (%s): reached %t, want %t", p.name, p.to, got, p.reached))
			}
		}
		return errors.Join(wrong...)
	})
}

// The exit codes of who dials: refused, and of the program timeout.
const (
	refused  = 4
	timedOut = 124
)

// reaches reports whether somebody answers at an address, asked from the pod's network.
func reaches(t *testing.T, from corev1.Pod, address string) bool {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "nsenter", "--net=/proc/"+strconv.Itoa(process(t, from))+"/ns/net",
		"timeout", "3", "bash", "-c", `(exec 3<>"/dev/tcp/$0/$1") 2>/dev/null || exit 4`, host, port).CombinedOutput()
	if err == nil {
		return true
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != refused && exit.ExitCode() != timedOut {
		t.Fatalf("dialing %s from pod %s: %v\n%s", address, from.Name, err, out)
	}
	return false
}

// idlePod runs a pod that does nothing, in a namespace of its own that goes with the test.
func idlePod(t *testing.T, w *world.World, namespace string) corev1.Pod {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	w.Create(t, ns)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := w.Client.Delete(ctx, ns); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
		awaitGone(ctx, t, w, ns)
	})
	world.Eventually(t, podPatience, namespace+" has its service account", func() error {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
		return w.Client.Get(t.Context(), client.ObjectKeyFromObject(account), account)
	})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "idle"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "idle", Image: "localhost/pause:1", ImagePullPolicy: corev1.PullNever}}},
	}
	w.Create(t, pod)
	w.MustKubectl(t, "-n", namespace, "wait", "--for=condition=Ready", "pod/idle", "--timeout=3m")
	w.Get(t, pod)
	return *pod
}
