package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// trial is the name of what the check makes and takes away again.
const trial = cgroup + "-check"

// Check finds out whether this machine can run a node, by doing what a node does first, and
// returns a *RefusalError if not. It leaves nothing behind and installs nothing. Whether a
// node runs at present makes no difference.
func Check(ctx context.Context) error {
	if err := Refuse(); err != nil {
		return err
	}
	for _, try := range []func(context.Context) error{tryPackages, tryAddresses, tryCgroups, tryNamespaces} {
		if err := try(ctx); err != nil {
			if _, refused := errors.AsType[*RefusalError](err); refused {
				return err
			}
			return &RefusalError{Reason: err.Error()}
		}
	}
	return nil
}

// tryPackages: what is missing can be installed.
func tryPackages(ctx context.Context) error {
	packages := missing(requirements, found)
	if len(packages) == 0 {
		return nil
	}
	if err := install(ctx, packages, "--simulate"); err != nil {
		return &MissingPackagesError{Packages: packages, Err: err}
	}
	return nil
}

// tryAddresses: nobody else has those of the node.
func tryAddresses(context.Context) error {
	links, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("looking at the machine's links: %w", err)
	}
	for _, link := range links {
		if link.Name == hostLink {
			continue // of a node that runs
		}
		addresses, err := link.Addrs()
		if err != nil {
			return fmt.Errorf("looking at the machine's addresses: %w", err)
		}
		if err := checkRange(addresses); err != nil {
			return err
		}
	}
	return nil
}

// tryCgroups makes one in each hierarchy.
func tryCgroups(ctx context.Context) error {
	m := &machine{root: "/"}
	hierarchies := m.hierarchies()
	if len(hierarchies) == 0 {
		return fmt.Errorf("there are no cgroups in %s", cgroupRoot)
	}
	for _, hierarchy := range hierarchies {
		group := filepath.Join(hierarchy, trial)
		if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("making a cgroup: %w", err)
		}
		if err := removeTree(ctx, group); err != nil {
			return fmt.Errorf("removing a cgroup: %w", err)
		}
	}
	return nil
}

// tryNamespaces has a process of its own do in namespaces what the first one of a node does.
func tryNamespaces(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", Trial)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if _, ended := errors.AsType[*exec.ExitError](err); ended {
		return errors.New(strings.TrimSpace(string(out)))
	}
	return fmt.Errorf("making namespaces: %w", err)
}

// Try does in namespaces what a node needs of the kernel there.
func Try(ctx context.Context) error {
	if err := furnish(append(machineMounts(), mount{source: "tmpfs", target: "/run", kind: "tmpfs"})); err != nil {
		return err
	}
	for _, t := range trials {
		if !t.possible() {
			continue // its program is yet to be installed
		}
		if out, err := exec.CommandContext(ctx, t.program, t.args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w: %s", t.program, strings.Join(t.args, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return forward()
}

// command is one that a machine has to be able to run.
type command struct {
	program string
	args    []string
	// after is another program that has to have run.
	after string
}

// possible reports whether what the command needs is installed.
func (c command) possible() bool {
	return found(c.program, nil) && (c.after == "" || found(c.after, nil))
}

// trials are of each kind of link, of rule and of set that a node makes.
var trials = []command{
	{program: "ip", args: []string{"link", "set", "lo", "up"}},
	{program: "ip", args: []string{"link", "add", "check0", "type", "bridge"}},
	{program: "ip", args: []string{"link", "add", "check1", "type", "veth", "peer", "name", "check2"}},
	{program: "ip", args: []string{"link", "set", "check1", "master", "check0"}},
	{program: "nft", args: []string{"add table ip check; add chain ip check nat { type nat hook prerouting priority dstnat; }"}},
	{program: "nft", args: []string{"add rule ip check nat ip daddr 192.0.2.1 tcp dport 1 dnat to 192.0.2.2:1"}},
	{program: "ipset", args: []string{"create", "check", "hash:ip"}},
	{program: "iptables", args: []string{"-w", "-A", "FORWARD", "-m", "set", "--match-set", "check", "src", "-j", "REJECT"}, after: "ipset"},
	{program: "iptables", args: []string{"-w", "-A", "FORWARD", "-m", "physdev", "--physdev-is-bridged", "-j", "MARK", "--set-mark", "1"}},
}
