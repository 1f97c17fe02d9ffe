package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/archive"
	"labhub.io/teamspace/controllers"
	"labhub.io/teamspace/controllers/teamspace"
)

const (
	leaseName = "teamspace-controller"

	// leaseRetry is how often a manager asks for the lease. With the jitter of client-go
	// a standby leads within two seconds of a clean stop of the leader.
	leaseRetry = 800 * time.Millisecond
)

// controllerOptions are those of the part that serves TeamSpaces.
type controllerOptions struct {
	options

	archive          string
	leaderElect      bool
	concurrency      int
	terminatingAfter time.Duration
}

func newControllerOptions() *controllerOptions {
	return &controllerOptions{
		options:          defaultOptions(),
		archive:          "configmap://teamspace-archive",
		leaderElect:      true,
		concurrency:      10,
		terminatingAfter: 5 * time.Minute,
	}
}

func (o *controllerOptions) addFlags(flags *pflag.FlagSet) {
	o.options.addFlags(flags)
	flags.StringVar(&o.archive, "archive", o.archive, "where the records of deleted TeamSpaces go: configmap://NAMESPACE or file:///DIRECTORY")
	flags.BoolVar(&o.leaderElect, "leader-elect", o.leaderElect, "write only while holding the lease; turn off only where a second controller cannot run")
	flags.IntVar(&o.concurrency, "concurrency", o.concurrency, "how many TeamSpaces are worked on at the same time")
	flags.DurationVar(&o.terminatingAfter, "terminating-after", o.terminatingAfter, "how long a team's namespace may be Terminating before the metric teamspace_namespaces_terminating counts it")
}

func (o *controllerOptions) validate() error {
	if o.concurrency < 1 {
		return fmt.Errorf("--concurrency %d: want at least 1", o.concurrency)
	}
	return o.options.validate()
}

// run wires the controller and runs it until the context ends.
func (o *controllerOptions) run(ctx context.Context) error {
	log, config, err := o.connect()
	if err != nil {
		return err
	}
	store, err := openArchive(log, config, o.archive)
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, o.managerOptions())
	if err != nil {
		return fmt.Errorf("setting up the manager: %w", err)
	}
	if err := controllers.SetupWithManager(mgr, controllers.Options{TeamSpace: teamspace.Options{
		Archive:             store,
		ProtectedNamespaces: protectedNamespaces(o.releaseNamespace, store),
		Concurrency:         o.concurrency,
		TerminatingAfter:    o.terminatingAfter,
	}}); err != nil {
		return fmt.Errorf("setting up the controllers: %w", err)
	}
	log.Info("Starting the controller", "version", version(), "archive", o.archive, "releaseNamespace", o.releaseNamespace)
	return start(ctx, mgr)
}

// managerOptions: of the cluster's quotas and limits only ours are read, which is also
// all that the role allows.
func (o *controllerOptions) managerOptions() ctrl.Options {
	readYourWrites, retry := true, leaseRetry
	named := func(name string) cache.ByObject {
		return cache.ByObject{Field: fields.OneTermEqualSelector(metav1.ObjectNameField, name)}
	}
	options := o.options.managerOptions()
	options.Cache.ByObject = map[client.Object]cache.ByObject{
		&corev1.LimitRange{}:    named(v1alpha1.LimitRangeName),
		&corev1.ResourceQuota{}: named(v1alpha1.QuotaName),
	}
	// A pass that follows a write sees that write, so that nothing is written twice.
	options.Client = client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: &readYourWrites}}
	options.LeaderElection = o.leaderElect
	options.LeaderElectionID = leaseName
	options.LeaderElectionNamespace = o.releaseNamespace
	options.LeaderElectionReleaseOnCancel = true // main ends right after Start
	options.RetryPeriod = &retry
	return options
}

// openArchive opens the archive with a client that does not cache. An archive that
// cannot be used yet is no reason not to serve TeamSpaces.
func openArchive(log logr.Logger, config *rest.Config, url string) (archive.Store, error) {
	live, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		return nil, fmt.Errorf("setting up the client of the archive: %w", err)
	}
	store, err := archive.Open(url, live)
	if errors.Is(err, archive.ErrUnavailable) {
		log.Error(err, "TeamSpaces are served, but none can be deleted until the archive can be written", "archive", url)
		return store, nil
	}
	return store, err
}

// protectedNamespaces are those that no team gets.
func protectedNamespaces(release string, store archive.Store) []string {
	if inCluster, ok := store.(*archive.ConfigMapStore); ok {
		return []string{release, inCluster.Namespace()}
	}
	return []string{release}
}
