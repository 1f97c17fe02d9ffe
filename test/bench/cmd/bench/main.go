// Command bench prints what the plugin takes: on a real API server against what the same
// data costs at least, and how that grows up to a million simulated objects. See package
// bench.
//
//	bench [OBJECTS...]
//
// Without numbers it measures at 10,000 and 100,000 objects on the real API server.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"labhub.io/teamspace/test/bench"
	"labhub.io/teamspace/test/program"
)

const (
	rounds       = 3
	startTimeout = 2 * time.Minute
	stopTimeout  = 15 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	if len(os.Args) == 3 && os.Args[1] == "floor" {
		err = floor(ctx, os.Args[2])
	} else {
		err = all(ctx, os.Args[1:])
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: "+err.Error())
		os.Exit(1)
	}
}

func all(ctx context.Context, args []string) error {
	sizes := []int{10_000, 100_000}
	if len(args) > 0 {
		sizes = nil
	}
	for _, arg := range args {
		size, err := strconv.Atoi(arg)
		if err != nil {
			return fmt.Errorf("want numbers of objects: %w", err)
		}
		sizes = append(sizes, size)
	}
	return errors.Join(onSandbox(ctx, sizes), simulated(ctx))
}

// floor is this program as the one that is measured for comparison.
func floor(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	n, err := bench.Floor(ctx, config)
	fmt.Println(n)
	return err
}

// onSandbox measures on a real control plane. Its collector stands still, so that what is
// wrong stays to be found.
func onSandbox(ctx context.Context, sizes []int) error {
	root, err := program.Root()
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "teamspace-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	dir, sandbox := filepath.Join(scratch, "sandbox"), filepath.Join(root, "bin", "sandbox")
	plane, err := program.Run(sandbox, "up", "--dir", dir)
	if err != nil {
		return err
	}
	defer func() { _ = plane.Stop(stopTimeout) }() // the figures are printed by then
	if err := plane.AwaitFile(ctx, filepath.Join(dir, "ready"), startTimeout); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, sandbox, "stop", "--dir", dir, "kube-controller-manager").CombinedOutput(); err != nil {
		return fmt.Errorf("stopping the collector: %w\n%s", err, out)
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	filler, err := newFiller(ctx, kubeconfig)
	if err != nil {
		return err
	}
	programs, err := programsOf(root, kubeconfig)
	if err != nil {
		return err
	}
	var rows []bench.Row
	for _, objects := range sizes {
		more, err := atSize(ctx, filler, programs, objects)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	fmt.Printf("Medians of %d rounds on a real API server\n", rounds)
	return bench.Print(os.Stdout, rows)
}

// atSize makes objects, sees that the audit finds exactly what is wrong with them, and
// measures.
func atSize(ctx context.Context, filler *bench.Filler, programs []measured, objects int) ([]bench.Row, error) {
	fmt.Fprintf(os.Stderr, "bench: making %d objects\n", objects)
	if err := filler.To(ctx, objects); err != nil {
		return nil, err
	}
	audit := programs[1]
	found, err := bench.Findings(ctx, audit.path, audit.args...)
	if err != nil {
		return nil, err
	}
	if diff := cmp.Diff(filler.Findings(), found); diff != "" {
		return nil, fmt.Errorf("at %d objects the audit finds something else than there is (-there +found):\n%s", objects, diff)
	}
	fmt.Fprintf(os.Stderr, "bench: the audit finds all %d references that are wrong, and no other\n", len(found))
	return measure(ctx, programs, objects)
}

func newFiller(ctx context.Context, kubeconfig string) (*bench.Filler, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	ctrllog.SetLogger(logr.Discard()) // else the client asks for one, at length
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, err
	}
	return bench.NewFiller(ctx, c)
}

// measured is a program and how it is called.
type measured struct {
	name string
	path string
	args []string
}

// programsOf lists the programs; the first is the floor, the second the audit. A peer is measured where somebody
// has installed it.
func programsOf(root, kubeconfig string) ([]measured, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	programs := []measured{
		{"floor", self, []string{"floor", kubeconfig}},
		{"audit", filepath.Join(root, "bin", "kubectl-teamspace"), []string{"audit", "--kubeconfig", kubeconfig, "-o", "json"}},
		{"stuck", filepath.Join(root, "bin", "kubectl-teamspace"), []string{"stuck", "--kubeconfig", kubeconfig, "-A"}},
	}
	const peer = "kubectl-check-ownerreferences"
	path, err := exec.LookPath(peer)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		fmt.Fprintf(os.Stderr, "bench: %s is not on the PATH, and is left out\n", peer)
		return programs, nil
	case err != nil:
		return nil, err
	}
	return append(programs, measured{peer, path, []string{"--kubeconfig", kubeconfig, "--qps", "100000", "--burst", "100000", "-o", "json"}}), nil
}

// measure runs the programs in turns, so that none has a quieter machine than another.
func measure(ctx context.Context, programs []measured, objects int) ([]bench.Row, error) {
	runs := make([][]bench.Measure, len(programs))
	for range rounds {
		for i, p := range programs {
			run, err := bench.Run(ctx, p.path, p.args...)
			if err != nil {
				return nil, err
			}
			runs[i] = append(runs[i], run)
		}
	}
	var rows []bench.Row
	for i, p := range programs {
		rows = append(rows, bench.Row{Program: p.name, Objects: objects, Measure: bench.Median(runs[i]), Floor: bench.Median(runs[0])})
	}
	return rows, nil
}

// simulated measures how the audit grows, on lists that are made up.
func simulated(ctx context.Context) error {
	root, err := program.Root()
	if err != nil {
		return err
	}
	var rows []bench.Row
	for _, objects := range []int{100_000, 250_000, 500_000, 1_000_000} {
		simulation, err := bench.NewSimulation(objects)
		if err != nil {
			return err
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		server := &http.Server{Handler: simulation, ReadHeaderTimeout: time.Minute}
		go func() { _ = server.Serve(listener) }() // it ends by Close
		args := []string{"audit", "--kubeconfig", os.DevNull, "--server", "http://" + listener.Addr().String(), "-o", "json"}
		measured, err := measure(ctx, []measured{{"audit", filepath.Join(root, "bin", "kubectl-teamspace"), args}}, objects)
		if closeErr := server.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return err
		}
		rows = append(rows, measured...)
	}
	fmt.Printf("\nThe audit on simulated lists, medians of %d\n", rounds)
	return bench.PrintGrowth(os.Stdout, rows)
}
