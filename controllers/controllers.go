// Package controllers lists the controllers of the manager. Each has a folder of
// its own; this is the only place that knows all of them.
package controllers

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"labhub.io/teamspace/controllers/teamspace"
	"labhub.io/teamspace/controllers/terminating"
)

// Options of all controllers.
type Options struct {
	// TeamSpace are the options of the TeamSpace controller.
	TeamSpace teamspace.Options

	// Terminating are the options of the controller that tells of stuck namespaces.
	Terminating terminating.Options
}

// SetupWithManager adds every controller to the manager.
func SetupWithManager(mgr ctrl.Manager, options Options) error {
	if err := teamspace.New(mgr, options.TeamSpace).SetupWithManager(mgr); err != nil {
		return err
	}
	return terminating.New(mgr, options.Terminating).SetupWithManager(mgr)
}
