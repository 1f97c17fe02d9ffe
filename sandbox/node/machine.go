package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// stateFile is held by the one node of the machine, and tells the next one what it left.
	stateFile = "/run/teamspace-sandbox-node.json"
	// hostLink is the machine's end of the link to the node.
	hostLink = "tsnode0"
	// cgroup is the name of the one that all pods are in, in each hierarchy.
	cgroup = "teamspace-sandbox"
	// cgroupRoot is where the hierarchies are.
	cgroupRoot = "/sys/fs/cgroup"
	// leaving is how long the kernel may take to see that a cgroup is empty.
	leaving = 5 * time.Second
)

// folders are where containerd and kubelet insist on having something. They are empty on
// the machine: the node has something of its own in their places.
var folders = []string{"/run/containerd", "/run/netns", "/var/lib/cni", "/var/lib/kubelet", "/var/log/containers", "/var/log/pods"}

// settings of the kernel that a kubelet changes for the whole machine.
var settings = []string{
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
	"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
}

// machine is what a node changes on the machine that does not go with its processes.
type machine struct {
	file *os.File
	root string
	state
}

// state is what is recorded.
type state struct {
	PID      int               `json:"pid"`
	Folders  []string          `json:"folders,omitempty"`
	Settings map[string]string `json:"settings,omitempty"`
}

// InUseError says that another sandbox has the machine's node.
type InUseError struct {
	PID int
}

// Error names the process.
func (e *InUseError) Error() string {
	return fmt.Sprintf("another sandbox runs a node on this machine (process %d), and there can be one only: stop that one first", e.PID)
}

// take makes this process the one with the node.
func take(file, root string) (*machine, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("taking hold of the machine: %w", err)
	}
	m := &machine{file: f, root: root}
	held := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	data, err := io.ReadAll(f)
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, &m.state)
	}
	switch {
	case held != nil:
		_ = f.Close()
		return nil, &InUseError{PID: m.PID}
	case err != nil:
		_ = f.Close()
		return nil, fmt.Errorf("reading what an earlier node has left in %s: %w", file, err)
	}
	return m, nil
}

// release lets others run a node. The file stays, since two could otherwise lock two.
func (m *machine) release() { _ = m.file.Close() }

// path is one of the machine's, which a test has elsewhere.
func (m *machine) path(elem ...string) string {
	return filepath.Join(append([]string{m.root}, elem...)...)
}

// prepare records what is going to change, and makes folders and cgroups.
func (m *machine) prepare() error {
	m.state = state{PID: os.Getpid(), Settings: map[string]string{}}
	for _, folder := range folders {
		if _, err := os.Stat(m.path(folder)); errors.Is(err, fs.ErrNotExist) {
			m.Folders = append(m.Folders, folder)
		}
	}
	for _, name := range settings {
		if value, err := os.ReadFile(m.path("/proc/sys", name)); err == nil {
			m.Settings[name] = strings.TrimSpace(string(value))
		}
	}
	if err := m.record(); err != nil {
		return err
	}
	for _, folder := range folders {
		if err := os.MkdirAll(m.path(folder), 0o755); err != nil {
			return fmt.Errorf("making a folder for the node: %w", err)
		}
	}
	for _, hierarchy := range m.hierarchies() {
		if err := os.Mkdir(filepath.Join(hierarchy, cgroup), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("making the cgroup of the pods: %w", err)
		}
	}
	return nil
}

// record writes the state before anything of it comes true.
func (m *machine) record() error {
	data, err := json.Marshal(m.state)
	if err == nil {
		err = m.file.Truncate(0)
	}
	if err == nil {
		_, err = m.file.WriteAt(data, 0)
	}
	if err != nil {
		return fmt.Errorf("recording what the node changes on the machine: %w", err)
	}
	return nil
}

// hierarchies are the roots of the cgroups: one, or one for each controller.
func (m *machine) hierarchies() []string {
	root := m.path(cgroupRoot)
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		return []string{root}
	}
	files, _ := filepath.Glob(filepath.Join(root, "*", "cgroup.procs"))
	var all []string
	for _, file := range files {
		all = append(all, filepath.Dir(file))
	}
	return all
}

// clean takes back what this node or an earlier one has changed. Nothing of it runs any more.
func (m *machine) clean(ctx context.Context) error {
	var failed []error
	failed = append(failed, m.removeCgroups(ctx), deleteLink(ctx))
	for name, value := range m.Settings {
		failed = append(failed, os.WriteFile(m.path("/proc/sys", name), []byte(value), 0o644))
	}
	for _, folder := range slices.Backward(m.Folders) {
		err := os.Remove(m.path(folder))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTEMPTY) {
			continue // somebody else's by now
		}
		failed = append(failed, err)
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("taking back what the node has changed on the machine: %w", err)
	}
	m.state = state{PID: os.Getpid()}
	return m.record()
}

// removeCgroups removes those of the pods, the innermost first.
func (m *machine) removeCgroups(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaving)
	defer cancel()
	for _, hierarchy := range m.hierarchies() {
		if err := removeTree(ctx, filepath.Join(hierarchy, cgroup)); err != nil {
			return fmt.Errorf("removing the cgroups of the pods: %w", err)
		}
	}
	return nil
}

// removeTree removes a cgroup and those in it. One whose last process has just died is
// busy for a moment.
func removeTree(ctx context.Context, group string) error {
	entries, err := os.ReadDir(group)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeTree(ctx, filepath.Join(group, entry.Name())); err != nil {
				return err
			}
		}
	}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := os.Remove(group)
		if !errors.Is(err, syscall.EBUSY) {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return err
		}
	}
}

// deleteLink deletes the link to the node, if the kernel has not done so with the node.
func deleteLink(ctx context.Context) error {
	if _, err := net.InterfaceByName(hostLink); err != nil {
		return nil //nolint:nilerr // there is none, which is what is wanted
	}
	if err := ip(ctx, "link", "delete", hostLink); err != nil {
		// It may have gone meanwhile, which the kernel does in its own time.
		if _, gone := net.InterfaceByName(hostLink); gone != nil {
			return nil //nolint:nilerr // as above
		}
		return err
	}
	return nil
}

// ip runs the program of that name.
func ip(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// checkRange refuses a machine that has an address among those of the node.
func checkRange(addresses []net.Addr) error {
	own := netip.MustParsePrefix(machineRange)
	for _, a := range addresses {
		prefix, err := netip.ParsePrefix(a.String())
		if err == nil && prefix.Overlaps(own) {
			return &RefusalError{Reason: fmt.Sprintf("it needs the addresses %s, and this machine is in %s", machineRange, prefix)}
		}
	}
	return nil
}
