package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
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
	lab     string
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
		Example: "  sandbox tour --chart charts/teamspace --manager bin/manager",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), tourTimeout)
			defer cancel()
			return runTour(ctx, o, cmd.OutOrStdout(), cmd.ErrOrStderr(), hurry)
		},
	}
	addProductFlags(cmd, &o.product)
	if err := cmd.Flags().MarkHidden("archive"); err != nil {
		panic(err) // the flag was declared in the line before
	}
	cmd.Flags().StringVar(&o.example, "example", "examples/team-alpha.yaml", "the file with the TeamSpace alpha")
	cmd.Flags().StringVar(&o.lab, "lab", "examples/ownership-lab", "the folder of the ownership lab")
	cmd.Flags().BoolVar(&o.keep, "keep", false, "keep the temporary directory, with the logs")
	return cmd
}

// auditPolicy has the API server note who deletes namespaces.
const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
{"level": "Metadata", "verbs": ["delete"], "resources": [{"resources": ["namespaces"]}]}, {"level": "None"}]}
`

// runTour makes the world, shows the tour in it, and ends it.
func runTour(ctx context.Context, o tourOptions, out, errOut io.Writer, hurry <-chan struct{}) (err error) {
	for _, path := range []string{o.example, o.lab} {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("finding the examples: %w", err)
		}
	}
	root, err := os.MkdirTemp("", "teamspace-tour-")
	if err != nil {
		return fmt.Errorf("making a directory for the tour: %w", err)
	}
	defer func() { err = errors.Join(err, o.cleanUp(root, errOut)) }()
	settings := tour.Settings{
		Dir:      filepath.Join(root, "sandbox"),
		Archive:  filepath.Join(root, "archive"),
		AuditLog: filepath.Join(root, "audit.log"),
		Example:  o.example,
		Lab:      o.lab,
	}
	plane := planeOptions{dir: settings.Dir, auditPolicy: filepath.Join(root, "audit-policy"), auditLog: settings.AuditLog}
	if err := os.WriteFile(plane.auditPolicy, []byte(auditPolicy), 0o600); err != nil {
		return fmt.Errorf("writing the audit policy: %w", err)
	}
	o.product.Archive = "file://" + settings.Archive

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	narration := &latch{w: errOut}
	ended := make(chan error, 1)
	go func() {
		err := runDev(ctx, plane, o.product, narration, hurry)
		ended <- err
		// Whatever the tour is showing has lost its ground.
		cancel(fmt.Errorf("the sandbox has ended: %w", err))
	}()
	err = awaitReady(ctx, settings.Dir)
	if err == nil {
		narration.hold()
		err = guideThrough(ctx, settings, out)
	}
	if err != nil {
		// Now, because the end of the log is about the end of the manager soon.
		err = fmt.Errorf("%w; --keep keeps the logs; the end of the manager's:\n%s", err, process.Tail(filepath.Join(settings.Dir, dev.Manager+".log")))
	}
	cancel(nil)
	if devErr := <-ended; devErr != nil {
		err = devErr // the cause of whatever the tour has run into
	}
	if err != nil {
		narration.release()
		return err
	}
	fmt.Fprintln(out, "\nAll of it happened as told.")
	return nil
}

// latch passes on what is written to it, or holds it back: the sandbox's own
// narration is of interest until the tour begins, and when it fails.
type latch struct {
	mu      sync.Mutex
	w       io.Writer
	holding bool
	held    bytes.Buffer
}

// Write passes on or holds back.
func (l *latch) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holding {
		return l.held.Write(p)
	}
	return l.w.Write(p)
}

// hold begins to hold back.
func (l *latch) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holding = true
}

// release passes on what was held back, and everything after it.
func (l *latch) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holding = false
	_, _ = l.held.WriteTo(l.w) // a reader that has gone away misses it
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
func guideThrough(ctx context.Context, settings tour.Settings, out io.Writer) error {
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
			"grep":    "grep",
		},
		// What a person has configured for kubectl is of no concern here.
		Env: append(os.Environ(),
			"KUBECONFIG="+filepath.Join(settings.Dir, "kubeconfig"),
			"KUBECACHEDIR="+filepath.Join(settings.Dir, "kubectl-cache"),
			"KUBERC=off",
		),
		Bold: isTerminal(out) && os.Getenv("NO_COLOR") == "",
	}
	steps, began := tour.Story(settings), time.Now()
	if err := guide.Run(ctx, steps); err != nil {
		return fmt.Errorf("the tour has failed in %w", err)
	}
	fmt.Fprintf(out, "\n%d steps in %.1f s.\n", len(steps), time.Since(began).Seconds())
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
