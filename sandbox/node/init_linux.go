package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// nodeLink is the node's end of the link to the machine.
const nodeLink = "node0"

// First is what the first process in the namespaces does: it makes them a machine, runs the
// sandbox, and takes every orphan off the kernel's hands until the sandbox ends. It returns
// the code that the sandbox ended with.
func First(ctx context.Context, hurry <-chan struct{}, dir string, args []string) (int, error) {
	connected := os.NewFile(gate, "gate")
	if _, err := connected.Read(make([]byte, 1)); err != nil {
		return 0, fmt.Errorf("waiting for the node's link: %w", err)
	}
	if err := furnish(mounts(dir)); err != nil {
		return 0, err
	}
	if err := plugIn(ctx); err != nil {
		return 0, err
	}
	sandbox, err := os.StartProcess("/proc/self/exe", append([]string{os.Args[0]}, args...), &os.ProcAttr{
		Env:   append(os.Environ(), marker+"=1"),
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("starting the sandbox in the node's namespaces: %w", err)
	}
	ended := make(chan struct{})
	defer close(ended)
	go pass(ctx, hurry, ended, sandbox)
	return reap(sandbox.Pid)
}

// reap waits for every process that ends, until the one of that id does, and returns its code.
func reap(pid int) (int, error) {
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, fmt.Errorf("waiting for the sandbox in the node's namespaces: %w", err)
		case ended == pid && status.Signaled():
			return 128 + int(status.Signal()), nil
		case ended == pid && status.Exited():
			return status.ExitStatus(), nil
		}
	}
}

// mount is one that only the node sees.
type mount struct {
	source, target, kind string
	flags                uintptr
}

// ownFolder is where the node keeps what a machine keeps in that folder.
func ownFolder(dir, folder string) string { return filepath.Join(dir, "node", folder) }

// lasting are the folders whose contents outlive a restart of the machine.
var lasting = map[string]bool{"/var/lib/kubelet": true, "/var/log/containers": true, "/var/log/pods": true}

// prepareFolders makes what the node's folders are kept in.
func prepareFolders(dir string) error {
	for folder := range lasting {
		if err := os.MkdirAll(ownFolder(dir, folder), 0o755); err != nil {
			return fmt.Errorf("making a folder for the node: %w", err)
		}
	}
	return nil
}

// machineMounts come before all others: they keep what follows apart from the machine, and
// show the processes that the node has.
func machineMounts() []mount {
	return []mount{
		// Nothing that is mounted here is to be seen on the machine; but pods have to see
		// what is mounted on the node later on.
		{target: "/", flags: syscall.MS_REC | syscall.MS_PRIVATE},
		{target: "/", flags: syscall.MS_REC | syscall.MS_SHARED},
		{source: "proc", target: "/proc", kind: "proc", flags: syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC},
	}
}

// mounts are what makes of the namespaces a machine that has just started.
func mounts(dir string) []mount {
	all := machineMounts()
	for _, folder := range folders {
		if lasting[folder] {
			all = append(all, mount{source: ownFolder(dir, folder), target: folder, flags: syscall.MS_BIND})
			continue
		}
		all = append(all, mount{source: "tmpfs", target: folder, kind: "tmpfs"})
	}
	return all
}

// furnish mounts what the node has of its own.
func furnish(all []mount) error {
	for _, m := range all {
		if err := syscall.Mount(m.source, m.target, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("mounting the node's own %s: %w", m.target, err)
		}
	}
	return nil
}

// plugIn gives the node its addresses, and lets it forward between pods.
func plugIn(ctx context.Context) error {
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		{"address", "add", address + linkPrefix, "dev", nodeLink},
		{"link", "set", nodeLink, "up"},
		// What asks for a Service on the node itself, as the API server does for a webhook, needs
		// a route before kube-proxy leads it elsewhere.
		{"route", "add", serviceRange, "via", hostAddress},
	} {
		if err := ip(ctx, args...); err != nil {
			return fmt.Errorf("connecting the node with the machine: %w", err)
		}
	}
	return forward()
}

// forward lets the node forward packets.
func forward() error {
	// The second is there where the kernel can filter what passes a bridge, as it has to for
	// a Service whose pods are on the bridge of who asks.
	for _, name := range []string{"net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables"} {
		err := os.WriteFile(filepath.Join("/proc/sys", name), []byte("1"), 0o644)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("letting the node forward: %w", err)
		}
	}
	return nil
}
