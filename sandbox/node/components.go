package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"labhub.io/teamspace/sandbox/controlplane"
	"labhub.io/teamspace/sandbox/directory"
	"labhub.io/teamspace/sandbox/image"
	"labhub.io/teamspace/sandbox/pki"
	"labhub.io/teamspace/sandbox/process"
)

// The names of the components, of their binaries and of their logs.
const (
	Containerd = "containerd"
	Kubelet    = "kubelet"
	Scheduler  = "kube-scheduler"
	Proxy      = "kube-proxy"
	Policy     = "network-policy"
)

// Binaries are what has to be built for a node.
var Binaries = []string{Containerd, "containerd-shim-runc-v2", "ctr", Kubelet, Scheduler, Proxy, Policy, "pause"}

const (
	// socket is containerd's.
	socket = "/run/containerd/containerd.sock"
	// grace is short: what is left is killed with the namespaces.
	grace = 1 * time.Second
	// startTimeout is for a machine that is busy with something else as well.
	startTimeout = 60 * time.Second
	// pauseImage is that of the container that holds a pod's network.
	pauseImage = "localhost/pause:1"
)

// Node is a node that is ready to be run, beside a control plane that has its Network.
type Node struct {
	dir      *directory.Directory
	plane    *controlplane.Plane
	binaries string
	images   []string
	plugins  string
	logs     map[string]string
}

// Prepare makes what the components need in the directory. The images are archives, which
// the node has from the start.
func Prepare(dir *directory.Directory, plane *controlplane.Plane, binaries string, images []string) (*Node, error) {
	n := &Node{dir: dir, plane: plane, binaries: binaries, images: images, logs: map[string]string{}}
	var err error
	if n.plugins, err = pluginFolder("bridge"); err != nil {
		return nil, err
	}
	for _, name := range []string{Containerd, Kubelet, Scheduler, Proxy, Policy} {
		if n.logs[name], err = dir.Log(name); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(n.path("cni"), 0o755); err != nil {
		return nil, fmt.Errorf("making the folder for the pods' network: %w", err)
	}
	return n, n.writePauseImage()
}

// path is one of the node's own in the directory.
func (n *Node) path(elem ...string) string {
	return n.dir.Path(append([]string{"node"}, elem...)...)
}

// writePauseImage makes an archive of the program pause.
func (n *Node) writePauseImage() error {
	program, err := os.ReadFile(filepath.Join(n.binaries, "pause"))
	if err != nil {
		return fmt.Errorf("making the image of pause: %w", err)
	}
	file, err := os.Create(n.pauseArchive())
	if err != nil {
		return fmt.Errorf("making the image of pause: %w", err)
	}
	err = image.Image{
		Name: pauseImage, User: "65535:65535", Entrypoint: []string{"/pause"},
		Files: []image.File{{Path: "/pause", Executable: true, Data: program}},
	}.Write(file)
	return errors.Join(err, file.Close())
}

func (n *Node) pauseArchive() string { return n.path("pause.tar") }

// Scheduler is kube-scheduler. It needs kube-apiserver.
func (n *Node) Scheduler() (process.Definition, error) {
	kubeconfig, err := n.plane.Kubeconfig(Scheduler, pki.Identity{Name: "system:kube-scheduler"})
	if err != nil {
		return process.Definition{}, err
	}
	server, err := n.plane.Issue(Scheduler+"-server", pki.Identity{Name: Scheduler, Hosts: []string{"localhost", "127.0.0.1"}})
	if err != nil {
		return process.Definition{}, err
	}
	d := n.definition(Scheduler,
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=10259",
		"--tls-cert-file="+server.CertFile, "--tls-private-key-file="+server.KeyFile)
	d.Addresses = map[string]string{"https": "127.0.0.1:10259"}
	d.Ready = n.plane.Answers("https://127.0.0.1:10259/healthz", "")
	return d, nil
}

// Containerd runs the containers.
func (n *Node) Containerd() (process.Definition, error) {
	file, err := n.write("containerd.toml", containerdConfig(n.path("containerd"), n.path("cni"), n.plugins))
	if err != nil {
		return process.Definition{}, err
	}
	d := n.definition(Containerd, "--config="+file)
	// It looks for its shim there.
	d.Env = append(os.Environ(), "PATH="+n.binaries+":"+os.Getenv("PATH"))
	d.Ready = answersAt(socket)
	return d, nil
}

// answersAt returns a probe that succeeds when somebody takes connections at a socket.
func answersAt(socket string) func(context.Context, time.Time) error {
	return func(ctx context.Context, _ time.Time) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if err != nil {
			return fmt.Errorf("probing: %w", err)
		}
		return connection.Close()
	}
}

// Import gives the images to containerd, which runs.
func (n *Node) Import(ctx context.Context) error {
	for _, archive := range append([]string{n.pauseArchive()}, n.images...) {
		cmd := exec.CommandContext(ctx, filepath.Join(n.binaries, "ctr"), "--address="+socket, "--namespace=k8s.io", "images", "import", "--local", archive)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("importing the image %s: %w: %s", archive, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// Kubelet runs the pods. It needs kube-apiserver and containerd.
func (n *Node) Kubelet() (process.Definition, error) {
	kubeconfig, err := n.plane.Kubeconfig(Kubelet, pki.Identity{Name: "system:node:" + Name, Groups: []string{"system:nodes"}})
	if err != nil {
		return process.Definition{}, err
	}
	server, err := n.plane.Issue(Kubelet+"-server", pki.Identity{Name: Kubelet, Hosts: []string{Name, address}})
	if err != nil {
		return process.Definition{}, err
	}
	network, err := networkConfig()
	if err != nil {
		return process.Definition{}, err
	}
	if _, err := n.write(filepath.Join("cni", "10-sandbox.conflist"), network); err != nil {
		return process.Definition{}, err
	}
	config, err := kubeletConfig(n.plane.CAFile(), server, n.path("volume-plugins"))
	if err != nil {
		return process.Definition{}, err
	}
	file, err := n.write("kubelet.json", config)
	if err != nil {
		return process.Definition{}, err
	}
	d := n.definition(Kubelet, "--config="+file, "--kubeconfig="+kubeconfig, "--hostname-override="+Name, "--node-ip="+address)
	d.Ready = n.plane.Answers("http://127.0.0.1:10248/healthz", "")
	return d, nil
}

// Proxy leads to Services. It needs kube-apiserver.
func (n *Node) Proxy() (process.Definition, error) {
	kubeconfig, err := n.plane.Kubeconfig(Proxy, pki.Identity{Name: "system:kube-proxy"})
	if err != nil {
		return process.Definition{}, err
	}
	config, err := proxyConfig(kubeconfig)
	if err != nil {
		return process.Definition{}, err
	}
	file, err := n.write("kube-proxy.json", config)
	if err != nil {
		return process.Definition{}, err
	}
	d := n.definition(Proxy, "--config="+file)
	d.Ready = n.plane.Answers("http://127.0.0.1:10256/livez", "")
	return d, nil
}

// Policy enforces NetworkPolicies. It needs kube-apiserver and kubelet, which announces the
// node. No role that a cluster has from the start lets it read what it must.
func (n *Node) Policy() (process.Definition, error) {
	kubeconfig, err := n.plane.Kubeconfig(Policy, pki.Identity{Name: Policy, Groups: []string{"system:masters"}})
	if err != nil {
		return process.Definition{}, err
	}
	const health = "127.0.0.1:10270"
	d := n.definition(Policy, "--kubeconfig="+kubeconfig, "--node="+Name, "--service-cluster-ip-range="+serviceRange, "--health="+health)
	d.Ready = n.plane.Answers("http://"+health, "")
	return d, nil
}

// Serving returns nil once the node takes pods.
func (n *Node) Serving(ctx context.Context) error {
	return n.plane.Answers(n.plane.URL()+"/api/v1/nodes/"+Name, `"reason":"KubeletReady"`)(ctx, time.Time{})
}

// write writes a file of configuration and returns its path.
func (n *Node) write(name string, data []byte) (string, error) {
	path := n.path(name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return "", fmt.Errorf("writing a configuration of the node: %w", err)
	}
	return path, nil
}

// definition is what the components have in common.
func (n *Node) definition(name string, args ...string) process.Definition {
	return process.Definition{
		Name: name, Path: filepath.Join(n.binaries, name), Args: args, Log: n.logs[name],
		Grace: grace, StartTimeout: startTimeout,
	}
}
