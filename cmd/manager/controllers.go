package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/archive"
	"labhub.io/teamspace/controllers"
	"labhub.io/teamspace/controllers/teamspace"
	"labhub.io/teamspace/controllers/terminating"
)

const (
	leaseName = "teamspace-controller"

	// leaseRetry is how often a manager asks for the lease. With the jitter of client-go
	// a standby leads within two seconds of a clean stop of the leader.
	leaseRetry = 800 * time.Millisecond
)

// addControllers serves TeamSpaces on the replica that leads.
func addControllers(mgr ctrl.Manager, log logr.Logger, config *rest.Config, o *options) error {
	store, err := openArchive(log, config, mgr.GetScheme(), o.archive)
	if err != nil {
		return err
	}
	return controllers.SetupWithManager(mgr, controllers.Options{
		TeamSpace: teamspace.Options{
			Archive:             store,
			ProtectedNamespaces: protectedNamespaces(o.releaseNamespace, store),
			Concurrency:         o.concurrency,
			TerminatingAfter:    o.terminatingAfter,
		},
		Terminating: terminating.Options{After: o.terminatingAfter},
	})
}

// controllerOptions adds what the controllers need of a manager. Of the cluster's quotas
// and limits they read only ours.
func controllerOptions(mgr *ctrl.Options, o *options) {
	readYourWrites, retry := true, leaseRetry
	named := func(name string) cache.ByObject {
		return cache.ByObject{Field: fields.OneTermEqualSelector(metav1.ObjectNameField, name)}
	}
	mgr.Cache.ByObject[&corev1.LimitRange{}] = named(v1alpha1.LimitRangeName)
	mgr.Cache.ByObject[&corev1.ResourceQuota{}] = named(v1alpha1.QuotaName)
	// A pass that follows a write sees that write, so that nothing is written twice.
	mgr.Client = client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: &readYourWrites}}
	mgr.LeaderElection = o.leaderElect
	mgr.LeaderElectionID = leaseName
	mgr.LeaderElectionNamespace = o.releaseNamespace
	mgr.LeaderElectionReleaseOnCancel = true // main ends right after Start
	mgr.RetryPeriod = &retry
}

// openArchive opens the archive with a client that does not cache. An archive that
// cannot be used yet is no reason not to serve TeamSpaces.
func openArchive(log logr.Logger, config *rest.Config, scheme *runtime.Scheme, url string) (archive.Store, error) {
	live, err := client.New(config, client.Options{Scheme: scheme})
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
