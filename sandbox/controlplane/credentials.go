package controlplane

import (
	"fmt"
	"slices"

	"labhub.io/teamspace/sandbox/pki"
	"labhub.io/teamspace/sandbox/port"
)

// credentials are the keys and certificates of the control plane.
type credentials struct {
	store                                                            *pki.Store
	ca, apiServer, admin, controllerManager, controllerManagerServer *pki.Pair
	etcdCA, etcd, etcdClient                                         *pki.Pair
	frontProxyCA, frontProxyClient                                   *pki.Pair
	serviceAccounts                                                  pki.SigningKey
}

// makeCredentials makes them in the folder, or reads them from it. There are
// three authorities, as in a cluster of kubeadm: a certificate for the one
// purpose must not be good for another.
func makeCredentials(folder string, kcm pki.Identity, network Network) (*credentials, error) {
	store, err := pki.Open(folder)
	if err != nil {
		return nil, err
	}
	c := &credentials{store: store}
	for _, authority := range []struct {
		pair       **pki.Pair
		file, name string
	}{
		{&c.ca, "ca", "sandbox-ca"},
		{&c.etcdCA, "etcd-ca", "sandbox-etcd-ca"},
		{&c.frontProxyCA, "front-proxy-ca", "sandbox-front-proxy-ca"},
	} {
		if *authority.pair, err = store.Authority(authority.file, authority.name); err != nil {
			return nil, err
		}
	}
	local := []string{"localhost", port.Loopback}
	inCluster := append(local, network.Address, network.ServiceAddress,
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
	for _, leaf := range []struct {
		pair      **pki.Pair
		authority *pki.Pair
		file      string
		id        pki.Identity
	}{
		{&c.apiServer, c.ca, "kube-apiserver", pki.Identity{Name: "kube-apiserver", Hosts: inCluster}},
		{&c.admin, c.ca, "admin", pki.Identity{Name: "sandbox-admin", Groups: []string{"system:masters"}}},
		{&c.controllerManager, c.ca, "kube-controller-manager", kcm},
		{&c.controllerManagerServer, c.ca, "kube-controller-manager-server", pki.Identity{Name: "kube-controller-manager", Hosts: local}},
		{&c.etcd, c.etcdCA, "etcd", pki.Identity{Name: "etcd", Hosts: local}},
		{&c.etcdClient, c.etcdCA, "etcd-client", pki.Identity{Name: "kube-apiserver"}},
		{&c.frontProxyClient, c.frontProxyCA, "front-proxy-client", pki.Identity{Name: "front-proxy-client"}},
	} {
		if *leaf.pair, err = store.Issue(leaf.authority, leaf.file, leaf.id); err != nil {
			return nil, err
		}
	}
	if c.serviceAccounts, err = store.SigningKey("service-accounts"); err != nil {
		return nil, fmt.Errorf("preparing the tokens of service accounts: %w", err)
	}
	return c, nil
}

// controllerManagerIdentity is who kube-controller-manager is to the API server. Without
// service accounts for its controllers all of them are this user, whose own role lets
// them do next to nothing: whoever runs it so has to give it more.
func controllerManagerIdentity(flags flags) pki.Identity {
	id := pki.Identity{Name: "system:" + ControllerManager}
	if slices.Contains(flags, [2]string{"use-service-account-credentials", "false"}) {
		id.Groups = []string{"system:masters"}
	}
	return id
}
