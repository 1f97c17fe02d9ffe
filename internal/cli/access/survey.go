package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"labhub.io/teamspace/internal/cli/terminal"
	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/graph"
)

// parallelLooks is how many objects are read live at once.
const parallelLooks = 16

// Survey reads all objects of the cluster, but events only if they are asked for, or own
// something. Somebody who may not list everywhere gets the namespace of the options at least.
func (c *Cluster) Survey(ctx context.Context, options inventory.Options, progress *terminal.Progress) (*inventory.Survey, error) {
	progress.Show("reading the cluster …")
	defer progress.Done()
	surveyor, err := inventory.NewSurveyor(inventory.NewCatalog(c.Discovery), c.Config)
	if err != nil {
		return nil, err
	}
	survey, err := surveyor.Survey(ctx, options)
	if err != nil || options.Events || !ownedByEvents(survey.Graph) {
		return survey, err
	}
	options.Events = true
	return surveyor.Survey(ctx, options)
}

// ownedByEvents reports whether an event owns something. That is rare, and what becomes of
// such an object cannot be told without the events.
func ownedByEvents(g *graph.Graph) bool {
	for id := graph.ID(g.Len()); int(id) < g.Nodes(); id++ {
		for _, number := range g.Dependents(id) {
			if g.Reference(int(number)).Mapping.Type.Kind == "Event" {
				return true
			}
		}
	}
	return false
}

// LacksNamespace reports whether a namespace that somebody asked about does not exist, as far
// as namespaces could be read. A word that is wrong must not pass for one where all is well.
func LacksNamespace(s *inventory.Survey, namespace string) bool {
	if namespace == "" || slices.ContainsFunc(s.Incomplete, func(i inventory.Incomplete) bool { return i.Resource == "namespaces" }) {
		return false
	}
	_, ok := s.Graph.Lookup("v1", "Namespace", "", namespace)
	return !ok
}

// mostGaps is how many gaps are told one by one.
const mostGaps = 3

// NoteGaps tells on the error stream what could not be read. Somebody with few permissions
// may read hardly anything, which is told on one line.
func NoteGaps(errOut io.Writer, gaps []inventory.Incomplete) {
	if len(gaps) <= mostGaps {
		for _, gap := range gaps {
			fmt.Fprintf(errOut, "note: %s could not be read, and may hold more: %s\n", gap.Resource, gap.Reason)
		}
		return
	}
	var resources []string
	for _, gap := range gaps {
		if !slices.Contains(resources, gap.Resource) {
			resources = append(resources, gap.Resource)
		}
	}
	if len(resources) <= mostGaps {
		fmt.Fprintf(errOut, "note: %s could not be read, and may hold more; -o json has each reason\n", strings.Join(resources, ", "))
		return
	}
	fmt.Fprintf(errOut, "note: %s and %d others, %d in all, could not be read, and may hold more; -o json has the reason of each\n",
		strings.Join(resources[:mostGaps], ", "), len(resources)-mostGaps, len(resources))
}

// Find finds a target in a survey, by the uid that it has now.
func (c *Cluster) Find(ctx context.Context, s *inventory.Survey, target Target) (graph.ID, error) {
	found, err := c.Metadata.Resource(target.Resource).Namespace(target.Namespace).Get(ctx, target.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return graph.None, fmt.Errorf("%s does not exist", target)
	}
	if err != nil {
		return graph.None, fmt.Errorf("reading %s: %w", target, err)
	}
	id, ok := s.Graph.Find(found.UID)
	if !ok || s.Graph.Virtual(id) {
		return graph.None, fmt.Errorf("%s is there, but not among what can be listed", target)
	}
	return id, nil
}

// SurveyFor are the options of a survey that has to have the targets in it: of their namespace if
// all of them are in the same one, since what is elsewhere counts for those that are not.
func SurveyFor(targets ...Target) inventory.Options {
	var options inventory.Options
	for i, target := range targets {
		if i == 0 {
			options.Namespace = target.Namespace
		}
		if options.Namespace != target.Namespace {
			options.Namespace = metav1.NamespaceAll
		}
		options.Events = options.Events || target.Resource.Resource == "events"
	}
	return options
}

// Look is what a live read brought of an object that a survey has.
type Look struct {
	ID graph.ID

	// Found is nil for an object that is gone, and for one that could not be read.
	Found *metav1.PartialObjectMetadata

	// Err says why it could not be read.
	Err error
}

// ErrNoResource is the error of an object whose type is not served any more.
var ErrNoResource = errors.New("its type is not served")

// Look reads objects of a survey live, in their order.
func (c *Cluster) Look(ctx context.Context, s *inventory.Survey, ids []graph.ID) []Look {
	looks := make([]Look, len(ids))
	workqueue.ParallelizeUntil(ctx, parallelLooks, len(ids), func(i int) {
		looks[i] = Look{ID: ids[i]}
		looks[i].Found, looks[i].Err = c.look(ctx, s, ids[i])
	})
	return looks
}

func (c *Cluster) look(ctx context.Context, s *inventory.Survey, id graph.ID) (*metav1.PartialObjectMetadata, error) {
	_, kind, mapping := s.Graph.Kind(id)
	resource, ok := s.Resource(mapping.Type)
	if !ok {
		return nil, fmt.Errorf("reading %s %q: %w", kind, s.Graph.Name(id), ErrNoResource)
	}
	found, err := c.Metadata.Resource(resource).Namespace(s.Graph.Namespace(id)).Get(ctx, s.Graph.Name(id), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %q: %w", kind, s.Graph.Name(id), err)
	case found.UID != s.Graph.UID(id):
		return nil, nil // another one of that name
	default:
		return found, nil
	}
}
