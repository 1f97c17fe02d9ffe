// Package controllers lists the controllers of the manager. Each has a folder of
// its own; this is the only place that knows all of them.
package controllers

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"labhub.io/teamspace/controllers/teamspace"
)

// Options of all controllers.
type Options struct {
	// TeamSpace are the options of the TeamSpace controller.
	TeamSpace teamspace.Options
}

// SetupWithManager adds every controller to the manager.
func SetupWithManager(mgr ctrl.Manager, options Options) error {
	return teamspace.New(mgr, options.TeamSpace).SetupWithManager(mgr)
}
