// Package node runs a real node beside the control plane: containerd, kubelet,
// kube-scheduler and kube-proxy, with pods that have addresses of their own, and with
// NetworkPolicies that are enforced.
//
// The whole sandbox then lives in namespaces of its own for mounts, processes and network,
// of which the rest of the machine sees one network link. Whatever ends it, the kernel
// takes bridges, rules, mounts, pods and their network down with its first process. What
// is not the kernel's to take down (Machine) is recorded before it is made, so that the
// next node can do it after a crash.
package node

import (
	"fmt"
	"os"
	"runtime"

	"labhub.io/teamspace/sandbox/controlplane"
)

// Name is the node's.
const Name = "sandbox"

// The addresses of a node: nothing of it is reached from outside the machine.
const (
	hostAddress = "10.213.0.1"
	address     = "10.213.0.2"
	linkPrefix  = "/30"
	// machineRange holds all of them.
	machineRange   = "10.213.0.0/16"
	podRange       = "10.213.64.0/18"
	serviceRange   = "10.213.128.0/18"
	serviceAddress = "10.213.128.1"
)

// Network is that of a control plane with a node.
var Network = controlplane.Network{
	Address: address, ServiceRange: serviceRange, ServiceAddress: serviceAddress, Nodes: true,
}

// marker is set in the environment of the sandbox that lives in the namespaces.
const marker = "TEAMSPACE_SANDBOX_NODE"

// Init is the hidden command that is the first process in the namespaces.
const Init = "node-init"

// Trial is the hidden command that Check runs in namespaces.
const Trial = "node-trial"

// Entry is a sandbox that is to have a node.
type Entry struct {
	// Args are those that this program was called with.
	Args []string
	// Dir is the sandbox's directory, an absolute path.
	Dir string
	// Hurry is closed when a person does not want to wait for a clean end.
	Hurry <-chan struct{}
	// Say tells a person what happens.
	Say func(format string, args ...any)
}

// ExitError is the end of a sandbox that has told its reason itself.
type ExitError struct {
	Code int
}

// Error names the code.
func (e *ExitError) Error() string {
	return fmt.Sprintf("the sandbox with the node ended with exit code %d", e.Code)
}

// RefusalError says why there can be no node here.
type RefusalError struct {
	Reason string
}

// Error is the reason, and what there is instead.
func (e *RefusalError) Error() string {
	return fmt.Sprintf("a node cannot run here: %s; without --node the sandbox runs anywhere, with a control plane only", e.Reason)
}

// refuse returns a *RefusalError unless a node can run.
func refuse(system string, user int) error {
	switch {
	case system != "linux":
		return &RefusalError{Reason: "it needs Linux, and this is " + system}
	case user != 0:
		return &RefusalError{Reason: fmt.Sprintf("it needs root, and this is user %d", user)}
	}
	return nil
}

// Refuse returns a *RefusalError unless a node can run here.
func Refuse() error { return refuse(runtime.GOOS, os.Getuid()) }
