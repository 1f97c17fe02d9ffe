package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

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

	publishRetry = 30 * time.Second
)

// addControllers serves TeamSpaces on the replica that leads.
func addControllers(mgr ctrl.Manager, log logr.Logger, config *rest.Config, o *options) error {
	live, err := client.New(config, client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return fmt.Errorf("setting up the client of the archive: %w", err)
	}
	store, err := openArchive(log, live, o.archive)
	if err != nil {
		return err
	}
	if err := mgr.Add(publishArchive(log, live, o)); err != nil {
		return fmt.Errorf("setting up the publishing of the archive: %w", err)
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
func openArchive(log logr.Logger, live client.Client, url string) (archive.Store, error) {
	store, err := archive.Open(url, live)
	if errors.Is(err, archive.ErrUnavailable) {
		log.Error(err, "No TeamSpace can be deleted until the archive can be written", "archive", url)
		return store, nil
	}
	return store, err
}

// publishArchive has the replica that leads say where the archive is, for whoever looks
// for a record. TeamSpaces are served all the same when it cannot.
func publishArchive(log logr.Logger, live client.Client, o *options) manager.Runnable {
	return manager.RunnableFunc(func(ctx context.Context) error {
		_ = wait.PollUntilContextCancel(ctx, publishRetry, true, func(ctx context.Context) (bool, error) {
			err := archive.Publish(ctx, live, o.releaseNamespace, o.archive)
			if err != nil && ctx.Err() == nil {
				log.Error(err, "Cannot say where the archive is, trying again", "archive", o.archive)
			}
			return err == nil, nil
		})
		return nil // it ends with the manager, at the latest
	})
}

// protectedNamespaces are those that no team gets.
func protectedNamespaces(release string, store archive.Store) []string {
	if inCluster, ok := store.(*archive.ConfigMapStore); ok {
		return []string{release, inCluster.Namespace()}
	}
	return []string{release}
}
