// Package cli is the command line of the sandbox.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"labhub.io/teamspace/sandbox/node"
)

// The exit codes.
const (
	success    = 0
	failure    = 1
	wrongUsage = 2
	// cannot is the answer no to whether this machine can run a node.
	cannot = 3
)

// usageError is an error in how a command was called.
type usageError struct{ error }

// Unwrap returns the error itself.
func (e usageError) Unwrap() error { return e.error }

// Main runs the command line and returns the exit code.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, hurry, release := untilSignal()
	defer release()
	root := newRoot(hurry)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return success
	}
	if told, ok := errors.AsType[*node.ExitError](err); ok {
		return told.Code
	}
	fmt.Fprintf(stderr, "sandbox: error: %v\n", err)
	if _, ok := errors.AsType[usageError](err); ok {
		return wrongUsage
	}
	if _, ok := errors.AsType[cannotError](err); ok {
		return cannot
	}
	return failure
}

// newRoot returns the command with all its subcommands.
func newRoot(hurry <-chan struct{}) *cobra.Command {
	root := &cobra.Command{
		Use:   "sandbox",
		Short: "A real Kubernetes control plane on loopback",
		Long: `Runs the real etcd, kube-apiserver and kube-controller-manager on loopback,
without root, in one directory that holds all of their state; on request with
TeamSpace on top.`,
		Example: `  # A control plane in the foreground, and a look at it from elsewhere.
  sandbox up --dir /tmp/sandbox
  kubectl --kubeconfig /tmp/sandbox/kubeconfig get namespaces

  # What happens when the garbage collector is away?
  sandbox stop --dir /tmp/sandbox kube-controller-manager`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("there is no command %q; `sandbox --help` lists those that there are", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w (`%s --help` explains the flags)", err, cmd.CommandPath())}
	})
	root.AddCommand(newUp(hurry), newDev(hurry), newTour(hurry), newStop(), newStart(), newRestart(), newStatus(), newRender(), newImage(), newDown(), newNode(), newNodeInit(hurry), newNodeTrial())
	return root
}

// untilSignal returns a context that ends with the first signal to end, and a
// channel that is closed with the second.
func untilSignal() (ctx context.Context, hurry <-chan struct{}, release func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	// Whoever uses nohup wants the sandbox to outlive the terminal.
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	second := make(chan struct{})
	go func() {
		<-signals
		cancel()
		<-signals
		close(second)
	}()
	return ctx, second, func() {
		signal.Stop(signals)
		cancel()
	}
}

// binaries is the folder of this executable: the others are beside it.
func binaries() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding the folder of the binaries: %w", err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", fmt.Errorf("finding the folder of the binaries: %w", err)
	}
	return filepath.Dir(self), nil
}

// requireDir gives a command its --dir flag.
func requireDir(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", "", "the directory of the sandbox (required)")
	if err := cmd.MarkFlagDirname("dir"); err != nil {
		panic(err) // the flag was declared in the line before
	}
}

// checkDir refuses an empty --dir.
func checkDir(dir string) error {
	if dir == "" {
		return usageError{errors.New("--dir is missing: name the directory of the sandbox")}
	}
	return nil
}
