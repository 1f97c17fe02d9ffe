// Package world gives tests the world of `make dev`: a real control plane with the
// chart and the manager on it, as processes of their own.
//
// A world takes some ten seconds to start. Tests of a package therefore share one
// (Shared) wherever none of them spoils it for the others; Start is for a test that
// would. Tests that stop a component must not be parallel: the testing package runs
// those before all parallel ones, so that nobody else sees the gap.
//
// What the tests need is built before them, by `make build sandbox`. A binary that is
// missing fails them with that advice; nothing is ever skipped.
package world

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/program"
)

// What the chart calls its parts when the sandbox installs it.
const (
	// ReleaseNamespace is the namespace of the release.
	ReleaseNamespace = "teamspace-system"

	// ArchiveNamespace is where the chart's default archive keeps its records.
	ArchiveNamespace = "teamspace-archive"

	// ManagerUser is the user that the manager's controller is to the API server.
	ManagerUser = "system:serviceaccount:teamspace-system:teamspace-controller"

	// WebhookUser is the user that its webhooks are.
	WebhookUser = "system:serviceaccount:teamspace-system:teamspace-webhook"

	// CollectorUser is the user that the garbage collector is to the API server.
	CollectorUser = "system:serviceaccount:kube-system:generic-garbage-collector"

	// LeaseName is the Lease that the manager holds while it leads.
	LeaseName = "teamspace-controller"
)

const (
	// startTimeout is what the sandbox promises, and as much again for a machine that
	// does something else besides.
	startTimeout = 120 * time.Second

	// stopTimeout is longer than the ten seconds that the sandbox promises.
	stopTimeout = 15 * time.Second

	pollInterval = 20 * time.Millisecond

	// imageFlag gives an image to a node.
	imageFlag = "--image="
)

// Options are what tests choose.
type Options struct {
	// Flags are further flags of `sandbox dev`.
	Flags []string

	// ChartArchive leaves the archive as the chart has it. Otherwise it is a
	// directory, World.ArchiveDir.
	ChartArchive bool

	// Node is a cluster with a real node instead, which has the images of these archives,
	// and nothing of TeamSpace: it is for tests that install it. It needs Linux and root.
	Node []string
}

// World is a control plane, most of the time with TeamSpace on it. Everything that happens in it is
// in its audit log.
type World struct {
	// Dir is the directory of the sandbox.
	Dir string

	// ArchiveDir is the directory that the manager archives to; empty with
	// Options.ChartArchive.
	ArchiveDir string

	// Admin is the administrator's access.
	Admin *rest.Config

	// Client is the administrator's, and caches nothing.
	Client client.WithWatch

	root    string
	scratch string
	process *program.Program
	args    []string // of the process
}

// Start starts a world for one test, and ends it with the test.
func Start(t testing.TB, options Options) *World {
	t.Helper()
	w, err := launch(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.report(0))
		}
		if err := w.close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// launch starts a world and returns when it is ready.
func launch(options Options) (*World, error) {
	ctrllog.SetLogger(logr.Discard()) // else the clients ask for one, at length
	root, err := program.Root()
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "teamspace-test-")
	if err != nil {
		return nil, err
	}
	w := &World{Dir: filepath.Join(scratch, "sandbox"), root: root, scratch: scratch}
	if err := w.start(options); err != nil {
		_ = w.close() // the first error is the one to tell
		return nil, err
	}
	return w, nil
}

func (w *World) start(options Options) (err error) {
	if w.args, err = w.arguments(options); err != nil {
		return err
	}
	return w.run()
}

// run runs the sandbox, and returns when the world is there to be asked.
func (w *World) run() (err error) {
	if w.process, err = program.Run(w.Binary("sandbox"), w.args...); err != nil {
		return err
	}
	if err := w.process.AwaitFile(context.Background(), filepath.Join(w.Dir, "ready"), startTimeout); err != nil {
		return err
	}
	w.Admin, err = clientcmd.BuildConfigFromFlags("", w.Kubeconfig())
	if err != nil {
		return fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	w.Admin.QPS = -1 // tests wait for the product, never for their own client
	w.Client, err = client.NewWithWatch(w.Admin, client.Options{Scheme: newScheme()})
	return err
}

// StopAndStart stops all of the world, as when the machine is switched off in good order, and
// starts it on what it has kept: its node has the images already.
func (w *World) StopAndStart(t testing.TB) {
	t.Helper()
	w.args = slices.DeleteFunc(w.args, func(arg string) bool { return strings.HasPrefix(arg, imageFlag) })
	err := w.process.Stop(stopTimeout)
	if err == nil {
		err = w.run()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (w *World) arguments(options Options) ([]string, error) {
	for _, name := range []string{"sandbox", "manager", "kubectl", "kubectl-teamspace"} {
		if _, err := program.Find(w.root, name); err != nil {
			return nil, err
		}
	}
	policy := filepath.Join(w.scratch, "audit-policy.json")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, err
	}
	audit := []string{"--audit-policy=" + policy, "--audit-log=" + w.auditLog()}
	if len(options.Node) > 0 {
		args := []string{"up", "--node", "--dir=" + w.Dir}
		for _, archive := range options.Node {
			args = append(args, imageFlag+archive)
		}
		return slices.Concat(args, audit, options.Flags), nil
	}
	args := []string{
		"dev", "--dir=" + w.Dir,
		"--chart=" + filepath.Join(w.root, "charts", "teamspace"),
		"--manager=" + w.Binary("manager"),
	}
	if !options.ChartArchive {
		w.ArchiveDir = filepath.Join(w.scratch, "archive")
		args = append(args, "--archive=file://"+w.ArchiveDir)
	}
	return slices.Concat(args, audit, options.Flags), nil
}

// close ends the world and removes what it left.
func (w *World) close() error {
	var err error
	if w.process != nil {
		err = w.process.Stop(stopTimeout)
	}
	if removeErr := os.RemoveAll(w.scratch); err == nil {
		err = removeErr
	}
	return err
}

// As returns a client of another user, who has the permissions of that user and of
// the groups, and no others.
func (w *World) As(t testing.TB, user string, groups ...string) client.Client {
	t.Helper()
	config := rest.CopyConfig(w.Admin)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	c, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// AuditLog is the file of the API server's audit log.
func (w *World) AuditLog() string { return w.auditLog() }

func (w *World) auditLog() string   { return filepath.Join(w.scratch, "audit.log") }
func (w *World) managerLog() string { return filepath.Join(w.Dir, "manager.log") }

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err) // two Go types under one name: the program itself is wrong
		}
	}
	return scheme
}

// TeamNamespace is the namespace of a team without anything but its name, to be read
// into or deleted.
func TeamNamespace(teamSpace string) *corev1.Namespace {
	ns := &corev1.Namespace{}
	ns.Name = v1alpha1.NamespaceFor(teamSpace)
	return ns
}
