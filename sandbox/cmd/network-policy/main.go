// Command network-policy enforces NetworkPolicies on the sandbox's node: it is kube-router's
// controller of network policies, without its router and its proxy, in iptables and ipset.
// The node's network itself, a bridge, lets everybody reach everybody.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// poll is how often the API server is asked whether the kubelet has announced the node.
	poll = 200 * time.Millisecond
	// repair is how often rules are made without a reason: another program that changes the
	// same table may have been in the way.
	repair = 30 * time.Second
)

// settings are what the node tells this program.
type settings struct {
	kubeconfig, node, services, health string
}

func main() {
	var s settings
	flag.StringVar(&s.kubeconfig, "kubeconfig", "", "how the API server is reached")
	flag.StringVar(&s.node, "node", "", "the name of this node")
	flag.StringVar(&s.services, "service-cluster-ip-range", "", "the addresses of Services")
	flag.StringVar(&s.health, "health", "", "the address that answers once policies are enforced")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintf(os.Stderr, "network-policy: %v\n", err)
		os.Exit(1) //nolint:gocritic // nothing is deferred that the end of the process does not do
	}
}

// run enforces policies until the context ends. The rules stay: they go with the node.
func run(ctx context.Context, s settings) error {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client for the API server: %w", err)
	}
	h := &health{}
	if err := h.serve(ctx, s.health); err != nil {
		return err
	}
	if err := awaitNode(ctx, client, s.node); err != nil {
		return err
	}
	controller, err := newController(ctx, client, s)
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	beats := make(chan *healthcheck.ControllerHeartbeat)
	go h.listen(beats)
	running.Add(1)
	go controller.Run(beats, ctx.Done(), &running)
	running.Wait()
	return nil
}

// awaitNode returns once the kubelet has announced the node and its address.
func awaitNode(ctx context.Context, client kubernetes.Interface, name string) error {
	last := errors.New("it has no address")
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			last = err
			return false, nil //nolint:nilerr // it is asked again
		}
		for _, a := range node.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the node %s: %w (%w)", name, err, last)
	}
	return nil
}

// newController returns the controller, which has seen all there is and is told of all that comes.
func newController(ctx context.Context, client kubernetes.Interface, s settings) (*netpol.NetworkPolicyController, error) {
	config := options.NewKubeRouterConfig()
	config.EnableIPv4, config.EnableIPv6 = true, false
	config.HostnameOverride, config.IPTablesSyncPeriod = s.node, repair
	config.ClusterIPCIDRs = []string{s.services}
	tables, sets, err := netpol.NewIPTablesHandlers(config)
	if err != nil {
		return nil, fmt.Errorf("finding the programs that make rules: %w", err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	namespaces := factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	controller, err := netpol.NewNetworkPolicyController(client, config, pods, policies, namespaces, &sync.Mutex{}, tables, sets)
	if err != nil {
		return nil, fmt.Errorf("making the controller of policies: %w", err)
	}
	for _, of := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{{pods, controller.PodEventHandler}, {namespaces, controller.NamespaceEventHandler}, {policies, controller.NetworkPolicyEventHandler}} {
		if _, err := of.informer.AddEventHandler(of.handler); err != nil {
			return nil, fmt.Errorf("listening to changes: %w", err)
		}
	}
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, fmt.Errorf("listing all objects of %s: %w", kind, ctx.Err())
		}
	}
	return controller, nil
}

// health answers 200 once the controller makes rules.
type health struct {
	alive atomic.Bool
}

// listen takes the controller's signs of life, which it would wait to be taken.
func (h *health) listen(beats <-chan *healthcheck.ControllerHeartbeat) {
	for range beats {
		h.alive.Store(true)
	}
}

// ServeHTTP answers.
func (h *health) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if !h.alive.Load() {
		http.Error(w, "no rules have been made yet", http.StatusServiceUnavailable)
	}
}

// serve answers at the address for as long as the process lives.
func (h *health) serve(ctx context.Context, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listening for who asks whether policies are enforced: %w", err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	return nil
}
