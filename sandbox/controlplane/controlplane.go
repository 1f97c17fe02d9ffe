// Package controlplane says how etcd, kube-apiserver and kube-controller-manager
// are run as one control plane on loopback, and how to tell that they serve.
//
// It starts nothing: it prepares certificates, addresses and flags, and hands
// out definitions for others to run.
package controlplane

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/rest"

	"labhub.io/teamspace/sandbox/directory"
	"labhub.io/teamspace/sandbox/kubeconfig"
	"labhub.io/teamspace/sandbox/port"
	"labhub.io/teamspace/sandbox/process"
)

// The names of the components, of their binaries and of their logs.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
)

// startTimeout is for a machine that is busy with something else as well.
const startTimeout = 60 * time.Second

// Network is where the API server is reached.
type Network struct {
	// Address is where it listens.
	Address string
	// ServiceRange holds the ClusterIPs, ServiceAddress the first of them, which the Service
	// kubernetes in default gets.
	ServiceRange, ServiceAddress string
	// Nodes tells that pods run, which ask for the API server by that Service.
	Nodes bool
}

// Local is the network of a control plane without nodes. Its ClusterIPs are a part of
// 127.0.0.0/8, all of which is loopback: the API server reaches a webhook behind a Service
// at its ClusterIP without anything that programs the network.
var Local = Network{Address: port.Loopback, ServiceRange: "127.64.0.0/16", ServiceAddress: "127.64.0.1"}

// Options are the choices that a user of the control plane has.
type Options struct {
	// Binaries is the folder with the components' binaries.
	Binaries string
	// Port is that of kube-apiserver; 0 leaves the choice to the sandbox.
	Port int
	// Network is where the API server is and what it gives to Services; nothing means Local.
	Network Network
	// AuditPolicy and AuditLog are files for kube-apiserver. Without a policy
	// there is no audit log.
	AuditPolicy, AuditLog string
	// Flags are further flags of a component, as "name=value" or "name". One
	// that is set here already is replaced.
	Flags map[string][]string
}

// Plane is a control plane that is ready to be run.
type Plane struct {
	dir       *directory.Directory
	options   Options
	files     *credentials
	addresses addresses
	logs      map[string]string
}

// Prepare makes what the components need in the directory, or takes what an
// earlier sandbox left there.
func Prepare(dir *directory.Directory, options Options) (*Plane, error) {
	if err := FindBinaries(options.Binaries, Etcd, APIServer, ControllerManager); err != nil {
		return nil, err
	}
	if options.Network == (Network{}) {
		options.Network = Local
	}
	kcm := controllerManagerIdentity(flags{}.with(options.Flags[ControllerManager]))
	files, err := makeCredentials(dir.Path("pki"), kcm, options.Network)
	if err != nil {
		return nil, err
	}
	chosen, err := chooseAddresses(dir.Path("addresses.json"), options.Network.Address, options.Port)
	if err != nil {
		return nil, err
	}
	p := &Plane{dir: dir, options: options, files: files, addresses: chosen, logs: map[string]string{}}
	for _, name := range []string{Etcd, APIServer, ControllerManager} {
		if p.logs[name], err = dir.Log(name); err != nil {
			return nil, err
		}
	}
	// etcd warns about a folder that others can look into.
	if err := os.MkdirAll(dir.Path("etcd"), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder for etcd's data: %w", err)
	}
	return p, p.writeKubeconfigs()
}

// URL is that of the API server.
func (p *Plane) URL() string { return "https://" + p.addresses.APIServer }

// CA is the certificate (PEM) that the API server is trusted by.
func (p *Plane) CA() []byte { return p.files.ca.CertPEM }

// WriteAdminKubeconfig writes the kubeconfig of an administrator.
func (p *Plane) WriteAdminKubeconfig(path string) error {
	admin := p.files.admin
	return kubeconfig.Config{
		Server: p.URL(), CA: p.CA(), User: "sandbox-admin", Cert: admin.CertPEM, Key: admin.KeyPEM,
	}.Write(path)
}

// Admin is an administrator's access for this process.
func (p *Plane) Admin() *rest.Config {
	admin := p.files.admin
	return &rest.Config{Host: p.URL(), TLSClientConfig: rest.TLSClientConfig{
		CAData: p.CA(), CertData: admin.CertPEM, KeyData: admin.KeyPEM,
	}}
}

// writeKubeconfigs writes those that the components themselves use.
func (p *Plane) writeKubeconfigs() error {
	kcm := p.files.controllerManager
	return kubeconfig.Config{
		Server: p.URL(), CA: p.CA(), User: "system:" + ControllerManager, Cert: kcm.CertPEM, Key: kcm.KeyPEM,
	}.Write(p.controllerManagerKubeconfig())
}

// controllerManagerKubeconfig is where kube-controller-manager's is.
func (p *Plane) controllerManagerKubeconfig() string {
	return p.dir.Path("pki", ControllerManager+".kubeconfig")
}

// binary is the path of a component's executable.
func (p *Plane) binary(name string) string { return filepath.Join(p.options.Binaries, name) }

// MissingBinaryError says that a binary is not where it has to be.
type MissingBinaryError struct {
	Path string
}

// Error names the binary and what makes it.
func (e *MissingBinaryError) Error() string {
	return fmt.Sprintf("the binary %s is missing from %s: `make sandbox` builds it", filepath.Base(e.Path), filepath.Dir(e.Path))
}

// FindBinaries returns a *MissingBinaryError unless all of them are in folder.
func FindBinaries(folder string, names ...string) error {
	for _, name := range names {
		path := filepath.Join(folder, name)
		info, err := os.Stat(path)
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return &MissingBinaryError{Path: path}
		}
	}
	return nil
}

// apiServerAddress is the address that a wanted port stands for.
func apiServerAddress(host string, wanted int) (string, error) {
	address := net.JoinHostPort(host, strconv.Itoa(wanted))
	return address, port.CheckFree(address)
}

// definition is what the three components have in common.
func (p *Plane) definition(name string, grace time.Duration, args []string) process.Definition {
	return process.Definition{
		Name: name, Path: p.binary(name), Args: args, Log: p.logs[name],
		Grace: grace, StartTimeout: startTimeout,
	}
}
