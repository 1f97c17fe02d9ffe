package sample

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
)

// Hold is a finalizer that nobody serves.
const Hold = "acme.example/hold"

// Sample is a graph and what happens to it.
type Sample struct {
	// Objects are there from the start. Those whose references lead to later
	// ones, or to themselves, get them by an update after all are created.
	Objects []graph.Object
	Rounds  []Round
}

// Round is what happens between two moments at which the collector has settled.
type Round struct {
	Mode  Mode
	Steps []Step
}

// Mode is what the collector does during the steps of a round.
type Mode uint8

const (
	// Down is stopped, and started after the steps. A new collector knows only what the
	// steps have left.
	Down Mode = iota
	// Paused stands still, and afterwards sees each step, though it can act only when
	// all are done. It sees objects of different types in any order, so that such a
	// round either makes something or deletes something.
	Paused
	// Running may act at once; such a round has one step.
	Running
)

// String names the mode.
func (m Mode) String() string { return [...]string{"down", "paused", "running"}[m] }

// Verb is what a step does.
type Verb uint8

const (
	// Delete sends a DELETE with Policy, a second one if there was one before.
	Delete Verb = iota
	// Create creates New.
	Create
	// Refer adds Reference to the object's list: the collector notices that.
	Refer
	// Edit changes the object's reference with the uid of Reference into it,
	// where it stands: the collector does not notice (R17).
	Edit
)

// Step is one request. A step whose object does not exist any more does nothing.
type Step struct {
	Verb      Verb
	Object    types.UID
	Policy    metav1.DeletionPropagation
	New       graph.Object
	Reference metav1.OwnerReference
}

// All returns every object that the sample ever has: those of the start, then
// those that its steps create.
func (s *Sample) All() []graph.Object {
	all := append([]graph.Object(nil), s.Objects...)
	for _, r := range s.Rounds {
		for _, step := range r.Steps {
			if step.Verb == Create {
				all = append(all, step.New)
			}
		}
	}
	return all
}

// UID returns the uid that an object has in samples and in the notation.
func UID(kind, namespace, name string) types.UID {
	if namespace == "" {
		return types.UID(kind + "/" + name)
	}
	return types.UID(kind + "/" + namespace + "/" + name)
}

// Types returns the types that samples use. They are served all the time, and
// nothing acts on objects of them but the collector and the namespace controller.
func Types() []graph.Type {
	served := func(apiVersion, kind string, namespaced bool) graph.Type {
		return graph.Type{APIVersion: apiVersion, Kind: kind, Namespaced: namespaced, Serving: graph.Served}
	}
	job := served("batch/v1", "Job", true)
	job.OrphansByDefault = true
	event := served("events.k8s.io/v1", "Event", true)
	event.Unmonitored, event.IgnoresPolicy = true, true
	return []graph.Type{
		served("v1", "ConfigMap", true),
		served("v1", "Secret", true),
		served("v1", "Namespace", false),
		served("apps/v1", "Deployment", true),
		served("rbac.authorization.k8s.io/v1", "ClusterRole", false),
		job, event,
		served("acme.example/v1", "Widget", true),
		served("acme.example/v1beta1", "Widget", true),
		served("acme.example/v1", "Gadget", true),
		served("acme.example/v1", "ClusterWidget", false),
	}
}
