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

func main() {
	bin := flag.String("bin", "../bin", "the directory that the binaries go to; it is made if need be")
	force := flag.Bool("force", false, "ask the compiler even where nothing seems to have changed")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "Builds sandbox, etcd, kube-apiserver, kube-controller-manager and kubectl.\nRun it in the folder of the sandbox module: go run ./cmd/build --bin ../bin\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "build: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *bin, *force); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n", err)
		os.Exit(1) //nolint:gocritic // nothing is deferred that the end of the process does not do
	}
}

// run builds every target into bin, and says what it does on standard error.
func run(ctx context.Context, bin string, force bool) error {
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
	inputs, err := fingerprint(ctx, version.ldflags())
	if err != nil {
		return err
	}
	stamps := readStamps(dir)
	built := 0
	for i, t := range targets {
		if t.pinned && !force && stamps.current(t.binary, inputs) {
			continue
		}
		out.begin(fmt.Sprintf("[%d/%d] %s", i+1, len(targets), t.binary))
		compiled, err := compile(ctx, t, filepath.Join(dir, t.binary), version.ldflags(), out)
		if err != nil {
			return err
		}
		if compiled > 0 {
			built++
		}
		out.end(compiled)
		if err := stamps.record(t.binary, inputs); err != nil {
			return err
		}
	}
	if built == 0 {
		out.line("%d binaries in %s are up to date with Kubernetes %s (%s)", len(targets), bin, version.git, roundSeconds(time.Since(began)))
		return nil
	}
	out.line("%d binaries in %s, Kubernetes %s, after %s", len(targets), bin, version.git, roundSeconds(time.Since(began)))
	return nil
}
