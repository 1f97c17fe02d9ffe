package controlplane

import (
	"net"
	"time"

	"labhub.io/teamspace/sandbox/process"
)

// The graces add up to less than the ten seconds that a sandbox may take to
// stop. kube-apiserver needs its own when etcd is gone: it would wait for it
// without end.
const (
	controllerManagerGrace = 2 * time.Second
	apiServerGrace         = 3 * time.Second
	etcdGrace              = 1500 * time.Millisecond
)

// garbageCollector is how kube-controller-manager calls the controller that most
// tests are about.
const garbageCollector = "garbage-collector-controller"

// Etcd is etcd with its data in the directory. It does not sync its writes to
// the disk: what is kept survives the end of any process, but not of the
// machine.
func (p *Plane) Etcd() process.Definition {
	f := p.files
	client, peer := "https://"+p.addresses.Etcd, "https://"+p.addresses.EtcdPeer
	args := flags{
		{"name", "sandbox"},
		{"data-dir", p.dir.Path("etcd")},
		{"unsafe-no-fsync", "true"},
		{"listen-client-urls", client},
		{"advertise-client-urls", client},
		{"listen-peer-urls", peer},
		{"initial-advertise-peer-urls", peer},
		{"initial-cluster", "sandbox=" + peer},
		{"client-cert-auth", "true"},
		{"trusted-ca-file", f.etcdCA.CertFile},
		{"cert-file", f.etcd.CertFile},
		{"key-file", f.etcd.KeyFile},
		{"peer-client-cert-auth", "true"},
		{"peer-trusted-ca-file", f.etcdCA.CertFile},
		{"peer-cert-file", f.etcd.CertFile},
		{"peer-key-file", f.etcd.KeyFile},
		{"log-level", "warn"},
	}
	d := p.definition(Etcd, etcdGrace, args.with(p.options.Flags[Etcd]).args())
	d.Addresses = map[string]string{"client": p.addresses.Etcd, "peer": p.addresses.EtcdPeer}
	d.Ready = newProbe(f.etcdCA, f.etcdClient, client+"/readyz").ready
	return d
}

// APIServer is kube-apiserver. It needs etcd.
func (p *Plane) APIServer() process.Definition {
	f := p.files
	host, portNumber, _ := net.SplitHostPort(p.addresses.APIServer)
	args := flags{
		{"bind-address", host},
		{"advertise-address", host},
		{"secure-port", portNumber},
		{"endpoint-reconciler-type", p.endpointReconciler()},
		{"service-cluster-ip-range", p.options.Network.ServiceRange},
		{"etcd-servers", "https://" + p.addresses.Etcd},
		{"etcd-cafile", f.etcdCA.CertFile},
		{"etcd-certfile", f.etcdClient.CertFile},
		{"etcd-keyfile", f.etcdClient.KeyFile},
		{"tls-cert-file", f.apiServer.CertFile},
		{"tls-private-key-file", f.apiServer.KeyFile},
		{"client-ca-file", f.ca.CertFile},
		{"authorization-mode", "Node,RBAC"},
		{"enable-admission-plugins", "NodeRestriction"},
		{"allow-privileged", "true"},
		{"service-account-issuer", "https://kubernetes.default.svc.cluster.local"},
		{"service-account-key-file", f.serviceAccounts.PublicFile},
		{"service-account-signing-key-file", f.serviceAccounts.PrivateFile},
		{"requestheader-client-ca-file", f.frontProxyCA.CertFile},
		{"requestheader-allowed-names", "front-proxy-client"},
		{"requestheader-extra-headers-prefix", "X-Remote-Extra-"},
		{"requestheader-group-headers", "X-Remote-Group"},
		{"requestheader-username-headers", "X-Remote-User"},
		{"proxy-client-cert-file", f.frontProxyClient.CertFile},
		{"proxy-client-key-file", f.frontProxyClient.KeyFile},
	}
	if p.options.Network.Nodes {
		args = append(args, p.kubeletAccess()...)
	}
	if p.options.AuditPolicy != "" {
		args = append(args, [2]string{"audit-policy-file", p.options.AuditPolicy}, [2]string{"audit-log-path", p.auditLog()})
	}
	d := p.definition(APIServer, apiServerGrace, args.with(p.options.Flags[APIServer]).args())
	d.Addresses = map[string]string{"https": p.addresses.APIServer}
	d.Ready = newProbe(f.ca, f.admin, p.URL()+"/readyz").ready
	return d
}

// endpointReconciler says who keeps the endpoint of the Service kubernetes: nobody, where it
// would publish a loopback address, which is refused.
func (p *Plane) endpointReconciler() string {
	if p.options.Network.Nodes {
		return "lease"
	}
	return "none"
}

// kubeletAccess is how the API server reaches a kubelet, for logs and exec.
func (p *Plane) kubeletAccess() flags {
	f := p.files
	return flags{
		{"kubelet-certificate-authority", f.ca.CertFile},
		{"kubelet-client-certificate", f.admin.CertFile},
		{"kubelet-client-key", f.admin.KeyFile},
		{"kubelet-preferred-address-types", "InternalIP"},
	}
}

// auditLog is where kube-apiserver writes its audit log.
func (p *Plane) auditLog() string {
	if p.options.AuditLog != "" {
		return p.options.AuditLog
	}
	return p.dir.Path("audit.log")
}

// ControllerManager is kube-controller-manager with the controllers that it
// runs by default, each with its own service account as in a real cluster. It
// needs kube-apiserver.
func (p *Plane) ControllerManager() process.Definition {
	f := p.files
	host, portNumber, _ := net.SplitHostPort(p.addresses.ControllerManager)
	kubeconfig := p.controllerManagerKubeconfig()
	args := flags{
		{"bind-address", host},
		{"secure-port", portNumber},
		{"tls-cert-file", f.controllerManagerServer.CertFile},
		{"tls-private-key-file", f.controllerManagerServer.KeyFile},
		{"kubeconfig", kubeconfig},
		{"authentication-kubeconfig", kubeconfig},
		{"authorization-kubeconfig", kubeconfig},
		{"client-ca-file", f.ca.CertFile},
		{"requestheader-client-ca-file", f.frontProxyCA.CertFile},
		{"leader-elect", "false"},
		{"use-service-account-credentials", "true"},
		// With its own limits of 20 and 30 it takes five seconds more to give
		// each controller its service account at the first start.
		{"kube-api-qps", "200"},
		{"kube-api-burst", "400"},
		{"service-account-private-key-file", f.serviceAccounts.PrivateFile},
		{"root-ca-file", f.ca.CertFile},
		{"cluster-signing-cert-file", f.ca.CertFile},
		{"cluster-signing-key-file", f.ca.KeyFile},
		// Otherwise it makes one below /usr.
		{"flex-volume-plugin-dir", p.dir.Path("flexvolume")},
	}
	d := p.definition(ControllerManager, controllerManagerGrace, args.with(p.options.Flags[ControllerManager]).args())
	d.Addresses = map[string]string{"https": p.addresses.ControllerManager}
	// It is healthy long before it works. The checks of its controllers are
	// registered together, when the last of them is built; until then it also
	// ends when the API server fails it.
	d.Ready = newProbe(f.ca, f.admin, "https://"+p.addresses.ControllerManager+"/healthz?verbose").
		expecting(garbageCollector).ready
	return d
}
