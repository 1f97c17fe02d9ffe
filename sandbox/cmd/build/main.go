// Command build compiles the sandbox: its own command and the control plane
// that it runs, each from the Go modules that go.mod pins.
//
// It imports the standard library only. `go run ./cmd/build` therefore starts
// within seconds on an empty module cache and can report on the minutes that
// follow, which `go build` itself would spend in silence.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// target is one binary and the main package that it is built from.
type target struct {
	binary string
	pkg    string
	// pinned tells that the package comes from the module cache: its source
	// cannot change while go.mod and go.sum stay as they are.
	pinned bool
	// modfile, if set, is the file that pins the package instead of go.mod; tags
	// leave out what would have to be linked against C.
	modfile, tags string
}

// targets are in build order. kube-apiserver is first among the large ones
// because it compiles most of what the others share.
var targets = []target{
	{binary: "etcd", pkg: "go.etcd.io/etcd/server/v3", pinned: true},
	{binary: "kube-apiserver", pkg: "k8s.io/kubernetes/cmd/kube-apiserver", pinned: true},
	{binary: "kube-controller-manager", pkg: "k8s.io/kubernetes/cmd/kube-controller-manager", pinned: true},
	{binary: "kubectl", pkg: "k8s.io/kubernetes/cmd/kubectl", pinned: true},
	{binary: "sandbox", pkg: "labhub.io/teamspace/sandbox/cmd/sandbox"},
}

// containerd has versions of what Kubernetes uses too, which must not be those
// of the control plane; so its requirements are in a file of their own.
const (
	containerdFile = "go.containerd.mod"
	containerdTags = "no_btrfs,no_devmapper,no_zfs"
)

// nodeTargets are what a node needs besides. Nothing else does, so they are
// built when a node is asked for.
var nodeTargets = []target{
	{binary: "kubelet", pkg: "k8s.io/kubernetes/cmd/kubelet", pinned: true},
	{binary: "kube-scheduler", pkg: "k8s.io/kubernetes/cmd/kube-scheduler", pinned: true},
	{binary: "kube-proxy", pkg: "k8s.io/kubernetes/cmd/kube-proxy", pinned: true},
	{binary: "containerd", pkg: "github.com/containerd/containerd/v2/cmd/containerd", pinned: true, modfile: containerdFile, tags: containerdTags},
	{binary: "containerd-shim-runc-v2", pkg: "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2", pinned: true, modfile: containerdFile, tags: containerdTags},
	{binary: "ctr", pkg: "github.com/containerd/containerd/v2/cmd/ctr", pinned: true, modfile: containerdFile, tags: containerdTags},
	{binary: "network-policy", pkg: "labhub.io/teamspace/sandbox/cmd/network-policy"},
	{binary: "pause", pkg: "labhub.io/teamspace/sandbox/cmd/pause"},
}

// flags are those of the go command for the target.
func (t target) flags() []string {
	var flags []string
	if t.modfile != "" {
		flags = append(flags, "-modfile="+t.modfile)
	}
	if t.tags != "" {
		flags = append(flags, "-tags="+t.tags)
	}
	return flags
}

func main() {
	bin := flag.String("bin", "../bin", "the directory that the binaries go to; it is made if need be")
	node := flag.Bool("node", false, "build what a node needs too")
	force := flag.Bool("force", false, "ask the compiler even where nothing seems to have changed")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "Builds sandbox, etcd, kube-apiserver, kube-controller-manager and kubectl, and with --node what a node needs.\nRun it in the folder of the sandbox module: go run ./cmd/build --bin ../bin\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "build: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	wanted := targets
	if *node {
		wanted = slices.Concat(targets, nodeTargets)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *bin, wanted, *force); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n", err)
		os.Exit(1) //nolint:gocritic // nothing is deferred that the end of the process does not do
	}
}

// run builds every wanted target into bin, and says what it does on standard error.
func run(ctx context.Context, bin string, wanted []target, force bool) error {
	began := time.Now()
	dir, err := filepath.Abs(bin)
	if err != nil {
		return fmt.Errorf("finding the directory %q: %w", bin, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the directory for the binaries: %w", err)
	}
	out := newProgress(os.Stderr)
	defer out.run()()
	out.begin("reading go.mod")
	version, err := kubernetesVersion(ctx, out)
	if err != nil {
		return err
	}
	b := build{stamps: readStamps(dir), ldflags: version.ldflags(), force: force, out: out}
	built := 0
	for i, t := range wanted {
		compiled, err := b.make(ctx, t, fmt.Sprintf("[%d/%d] %s", i+1, len(wanted), t.binary))
		if err != nil {
			return err
		}
		if compiled > 0 {
			built++
		}
	}
	if built == 0 {
		out.line("%d binaries in %s are up to date with Kubernetes %s (%s)", len(wanted), bin, version.git, roundSeconds(time.Since(began)))
		return nil
	}
	out.line("%d binaries in %s, Kubernetes %s, after %s", len(wanted), bin, version.git, roundSeconds(time.Since(began)))
	return nil
}

// build is what the targets have in common.
type build struct {
	stamps  stamps
	ldflags string
	force   bool
	out     *progress
}

// make makes a target unless it is up to date, and returns how many packages that took.
func (b build) make(ctx context.Context, t target, step string) (int, error) {
	inputs, err := fingerprint(ctx, b.ldflags, t.modfile)
	if err != nil {
		return 0, err
	}
	if t.pinned && !b.force && b.stamps.current(t.binary, inputs) {
		return 0, nil
	}
	b.out.begin(step)
	compiled, err := compile(ctx, t, filepath.Join(b.stamps.dir, t.binary), b.ldflags, b.out)
	if err != nil {
		return 0, err
	}
	b.out.end(compiled)
	return compiled, b.stamps.record(t.binary, inputs)
}
