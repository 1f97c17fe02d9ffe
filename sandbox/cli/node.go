package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"labhub.io/teamspace/sandbox/controlplane"
	"labhub.io/teamspace/sandbox/node"
	"labhub.io/teamspace/sandbox/process"
	"labhub.io/teamspace/sandbox/world"
)

// enterNode checks what can be checked before, builds what a node needs, and runs the same
// command once more where the node is to be.
func enterNode(cmd *cobra.Command, o planeOptions, hurry <-chan struct{}) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := node.Refuse(); err != nil {
		return err
	}
	narrator := world.NewNarrator(cmd.ErrOrStderr())
	if err := buildNode(cmd.Context(), narrator); err != nil {
		return err
	}
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return fmt.Errorf("finding the directory %q: %w", o.dir, err)
	}
	return node.Enter(cmd.Context(), node.Entry{Args: os.Args[1:], Dir: dir, Hurry: hurry, Say: narrator.Say})
}

// buildNode builds the node's binaries if one of them is missing and their sources are where
// they are in the repository.
func buildNode(ctx context.Context, narrator world.Narrator) error {
	folder, err := binaries()
	if err != nil {
		return err
	}
	missing := controlplane.FindBinaries(folder, node.Binaries...)
	if missing == nil {
		return nil
	}
	sources := filepath.Join(filepath.Dir(folder), "sandbox")
	if _, err := os.Stat(filepath.Join(sources, "go.containerd.mod")); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w, with NODE=1", missing)
	}
	narrator.Say("building what a node needs, which takes some minutes the first time")
	build := exec.CommandContext(ctx, "go", "run", "-buildvcs=false", "./cmd/build", "--bin", folder, "--node")
	build.Dir = sources
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building what a node needs: %w", err)
	}
	return nil
}

// runWithNode runs the control plane with a node, in the namespaces.
func runWithNode(cmd *cobra.Command, o planeOptions, images []string, hurry <-chan struct{}) error {
	o.network = node.Network
	dir, plane, err := o.prepare()
	if err != nil {
		return err
	}
	defer dir.Release()
	folder, err := binaries()
	if err != nil {
		return err
	}
	n, err := node.Prepare(dir, plane, folder, images)
	if err != nil {
		return err
	}
	config := planeConfig(dir, plane, cmd.ErrOrStderr())
	config.Hurry, config.Address = hurry, node.Network.Address
	config.Components = append(config.Components,
		world.Component{Name: node.Scheduler, Define: oneOrError(n.Scheduler)},
		world.Component{Name: node.Containerd, Define: oneOrError(n.Containerd)},
		world.Component{Name: node.Kubelet, Before: n.Import, Define: oneOrError(n.Kubelet)},
		world.Component{Name: node.Proxy, Define: oneOrError(n.Proxy)},
		world.Component{Name: node.Policy, Define: oneOrError(n.Policy)},
	)
	config.Serving = func(ctx context.Context) error {
		if err := plane.Serving(ctx); err != nil {
			return err
		}
		return n.Serving(ctx)
	}
	return world.Run(cmd.Context(), config)
}

// oneOrError makes a definition of a component out of one of a program.
func oneOrError(define func() (process.Definition, error)) func(context.Context) ([]process.Definition, error) {
	return func(context.Context) ([]process.Definition, error) {
		d, err := define()
		return []process.Definition{d}, err
	}
}

// newNodeInit returns the command that is the first process in a node's namespaces.
func newNodeInit(hurry <-chan struct{}) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:    node.Init,
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := node.First(cmd.Context(), hurry, dir, args)
			if err == nil && code != success {
				err = &node.ExitError{Code: code}
			}
			return err
		},
	}
	requireDir(cmd, &dir)
	return cmd
}

// newDown returns the command that cleans up after a node.
func newDown() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Take back what a node has left on this machine after a crash",
		Long: `Removes the cgroups and folders of a node that could not do so itself, because
it was killed, and sets what its kubelet had changed in the kernel as it was. The
next "up --node" does the same. There is nothing else to take down: processes,
mounts, network and rules go with the node, whatever ends it.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return node.Down(cmd.Context()) },
	}
}

// cannotError is why this machine cannot run a node, for who has asked.
type cannotError struct{ error }

// Unwrap returns the error itself.
func (e cannotError) Unwrap() error { return e.error }

// newNode returns the command for questions about nodes.
func newNode() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Ask about a node on this machine",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newNodeCheck())
	return cmd
}

// newNodeCheck returns the command that tells whether there can be a node.
func newNodeCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Find out whether this machine can run a node",
		Long: `Ends with exit code 0 if "up --node" can run a node on this machine, and with 3 and
the reason if not. It tries: it makes namespaces, mounts, links, rules and cgroups as
a node does, and takes them away again. Packages that are missing count as there if
apt-get can install them, which is left to "up --node". It takes no notice of a node
that runs at present, though there can be one only.`,
		Example: `  # In a script.
  if bin/sandbox node check; then make e2e; fi`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := node.Check(cmd.Context()); err != nil {
				return cannotError{err}
			}
			return nil
		},
	}
}

// newNodeTrial returns the command that the check runs in namespaces.
func newNodeTrial() *cobra.Command {
	return &cobra.Command{
		Use:    node.Trial,
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := node.Try(cmd.Context()); err != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), err) // for the check, which says the rest
				return &node.ExitError{Code: failure}
			}
			return nil
		},
	}
}
