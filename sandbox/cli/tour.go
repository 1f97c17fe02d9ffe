package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"labhub.io/teamspace/sandbox/controlplane"
	"labhub.io/teamspace/sandbox/dev"
	"labhub.io/teamspace/sandbox/process"
	"labhub.io/teamspace/sandbox/tour"
)

// tourTimeout ends a tour that makes no progress, whatever the reason.
const tourTimeout = 5 * time.Minute

// tourOptions are the flags of the tour.
type tourOptions struct {
	product dev.Options
	example string
	keep    bool
}

// newTour returns the command that shows the product.
func newTour(hurry <-chan struct{}) *cobra.Command {
	var o tourOptions
	cmd := &cobra.Command{
		Use:   "tour",
		Short: "Show on a real control plane what TeamSpace does",
		Long: `Starts a control plane with TeamSpace in a temporary directory, runs commands
against it, and shows them with their real output. Succeeds only if every one of
them did what the tour says; removes everything that it has made.`,
		Example: `  sandbox tour --chart charts/teamspace --manager bin/manager`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), tourTimeout)
			defer cancel()
			return runTour(ctx, o, cmd.OutOrStdout(), cmd.ErrOrStderr(), hurry)
		},
	}
	addProductFlags(cmd, &o.product)
	cmd.Flags().StringVar(&o.example, "example", "examples/team-alpha.yaml", "the file with the TeamSpace alpha")
	cmd.Flags().BoolVar(&o.keep, "keep", false, "keep the temporary directory, with the logs")
	return cmd
}

// runTour makes the world, shows the tour in it, and ends it.
func runTour(ctx context.Context, o tourOptions, out, errOut io.Writer, hurry <-chan struct{}) (err error) {
	if _, err := os.Stat(o.example); err != nil {
		return fmt.Errorf("finding the example: %w", err)
	}
	root, err := os.MkdirTemp("", "teamspace-tour-")
	if err != nil {
		return fmt.Errorf("making a directory for the tour: %w", err)
	}
	defer func() { err = errors.Join(err, o.cleanUp(root, errOut)) }()
	dir, archive := filepath.Join(root, "sandbox"), filepath.Join(root, "archive")
	if o.product.Archive == "" {
		o.product.Archive = "file://" + archive
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() {
		err := runDev(ctx, planeOptions{dir: dir}, o.product, errOut, hurry)
		ended <- err
		// Whatever the tour is showing has lost its ground.
		cancel(fmt.Errorf("the sandbox has ended: %w", err))
	}()
	guideErr := awaitReady(ctx, dir)
	if guideErr == nil {
		guideErr = guideThrough(ctx, dir, tour.Settings{Dir: dir, Archive: archive, Example: o.example}, out)
	}
	cancel(nil)
	devErr := <-ended
	switch {
	case devErr != nil:
		// It is the cause of whatever the tour has run into.
		return devErr
	case guideErr != nil:
		return fmt.Errorf("%w\nthe end of %s:\n%s", guideErr, filepath.Join(dir, dev.Manager+".log"), process.Tail(filepath.Join(dir, dev.Manager+".log")))
	}
	fmt.Fprintln(out, "\nAll of it happened as told.")
	return nil
}

// cleanUp removes the directory of the tour, or tells where it is.
func (o tourOptions) cleanUp(root string, errOut io.Writer) error {
	if o.keep {
		fmt.Fprintf(errOut, "sandbox: kept: %s\n", root)
		return nil
	}
	if err := os.RemoveAll(root); err != nil {
		return fmt.Errorf("removing the directory of the tour: %w", err)
	}
	return nil
}

// awaitReady waits for the sandbox in the directory.
func awaitReady(ctx context.Context, dir string) error {
	const interval = 50 * time.Millisecond
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the sandbox: %w", context.Cause(ctx))
		}
	}
}

// guideThrough shows the story.
func guideThrough(ctx context.Context, dir string, settings tour.Settings, out io.Writer) error {
	folder, err := binaries()
	if err != nil {
		return err
	}
	if err := controlplane.FindBinaries(folder, "kubectl"); err != nil {
		return err
	}
	guide := &tour.Guide{
		Out: out,
		Programs: map[string]string{
			"kubectl": filepath.Join(folder, "kubectl"),
			"sandbox": filepath.Join(folder, "sandbox"),
			"cat":     "cat",
		},
		// What a person has configured for kubectl is of no concern here.
		Env: append(os.Environ(),
			"KUBECONFIG="+filepath.Join(dir, "kubeconfig"),
			"KUBECACHEDIR="+filepath.Join(dir, "kubectl-cache"),
			"KUBERC=off",
		),
		Bold: isTerminal(out) && os.Getenv("NO_COLOR") == "",
	}
	began := time.Now()
	if err := guide.Run(ctx, tour.Story(settings)); err != nil {
		return fmt.Errorf("the tour has failed in %w", err)
	}
	fmt.Fprintf(out, "\n%d steps in %.1f s.\n", len(tour.Story(settings)), time.Since(began).Seconds())
	return nil
}

// isTerminal reports whether a person is looking at what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
