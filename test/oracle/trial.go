package oracle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
	"labhub.io/teamspace/test/oracle/live"
	"labhub.io/teamspace/test/oracle/sample"
)

// knownTypes are the types of every graph.
var knownTypes = graph.NewTypes(sample.Types()...)

// trial is one sample on its way through the rounds.
type trial struct {
	sample *sample.Sample
	space  *live.Space

	// Of the present round: what was there before the collector could act, and what
	// has happened to it.
	objects []graph.Object
	made    []types.UID
	deleted []sample.Step
	// prediction is made of the graph alone; recalled, if there is any such thing, with
	// what the collector may remember.
	prediction, recalled *rules.Prediction
	memory               memory

	doubtful     bool
	disagreement *Disagreement
}

// build creates the objects of the start: first all of them, then the references that
// had to wait for their owners.
func (t *trial) build(ctx context.Context) error {
	for _, o := range t.sample.Objects {
		bare := o
		if !t.allKnown(o.Owners) {
			bare.Owners = nil
		}
		if _, err := t.space.Create(ctx, bare); err != nil {
			return err
		}
		if len(bare.Owners) == len(o.Owners) {
			t.made = append(t.made, o.UID)
		}
	}
	for _, o := range t.sample.Objects {
		if slices.Contains(t.made, o.UID) {
			continue
		}
		if _, err := t.space.SetOwners(ctx, o.UID, o.Owners); err != nil {
			return err
		}
	}
	return nil
}

// allKnown reports whether the real uids of all owners that will ever exist are known.
func (t *trial) allKnown(refs []metav1.OwnerReference) bool {
	return !slices.ContainsFunc(refs, func(ref metav1.OwnerReference) bool {
		later := slices.ContainsFunc(t.sample.Objects, func(o graph.Object) bool { return o.UID == ref.UID })
		return later && !t.space.Knows(ref.UID)
	})
}

// begin sets the trial to what is there before a round.
func (t *trial) begin(all live.Objects, w *live.Watch) {
	t.objects, t.made, t.deleted, t.prediction, t.recalled = t.space.Objects(all), nil, nil, nil, nil
	for i, o := range t.objects {
		waits := o.Deleting && slices.Contains(o.Finalizers, metav1.FinalizerDeleteDependents)
		t.objects[i].Marked = o.Deleting && !waits && w.Waited(t.space.RealUID(o.UID))
	}
}

// do does the steps of a round. Those for objects that are not there do nothing. What
// is made is made before anything is deleted, and is part of the graph from the start.
func (t *trial) do(ctx context.Context, steps []sample.Step) error {
	for _, step := range steps {
		err := t.step(ctx, step)
		if err != nil && !errors.Is(err, live.ErrGone) && !refused(err) {
			return err
		}
	}
	return nil
}

// refused reports whether the API server did not accept an object because its namespace
// is being deleted, or was.
func refused(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.IsNotFound(err)
}

func (t *trial) step(ctx context.Context, step sample.Step) error {
	switch step.Verb {
	case sample.Create:
		o, err := t.space.Create(ctx, step.New)
		if err != nil {
			return err
		}
		t.objects, t.made = append(t.objects, o), append(t.made, o.UID)
		return nil
	case sample.Delete:
		if t.find(step.Object) < 0 {
			return nil
		}
		t.deleted = append(t.deleted, step)
		return nil
	default:
		return t.change(ctx, step)
	}
}

// change adds a reference or edits one, if the object is there and has exactly the
// references that this takes. What the collector comes back to again and again is not
// edited: it would notice, which no event tells a prediction.
func (t *trial) change(ctx context.Context, step sample.Step) error {
	i := t.find(step.Object)
	if i < 0 {
		return nil
	}
	owners := slices.Clone(t.objects[i].Owners)
	var same []int
	for n, ref := range owners {
		if ref.UID == step.Reference.UID {
			same = append(same, n)
		}
	}
	switch {
	case step.Verb == sample.Refer && len(same) == 0:
		owners = append(owners, step.Reference)
	case step.Verb == sample.Edit && len(same) == 1 && !t.retrying(step.Object):
		ref := &owners[same[0]]
		ref.APIVersion, ref.Kind, ref.Name = step.Reference.APIVersion, step.Reference.Kind, step.Reference.Name
	default:
		return nil
	}
	o, err := t.space.SetOwners(ctx, step.Object, owners)
	if err != nil {
		return err
	}
	o.Marked = t.objects[i].Marked
	t.objects[i] = o
	if step.Verb == sample.Refer {
		t.made = append(t.made, step.Object)
	}
	return nil
}

// retrying reports whether the collector could not judge the object and tries it again.
func (t *trial) retrying(uid types.UID) bool {
	g := t.graph()
	id, _ := g.Find(uid)
	d, ok := rules.Predict(g).Decision(id)
	return ok && d.Action == rules.Retry
}

// delete sends the DELETE requests of the round.
func (t *trial) delete(ctx context.Context) error {
	for _, step := range t.deleted {
		err := t.space.Delete(ctx, step.Object, step.Policy)
		if err != nil && !errors.Is(err, live.ErrGone) {
			return err
		}
	}
	return nil
}

func (t *trial) find(uid types.UID) int {
	return slices.IndexFunc(t.objects, func(o graph.Object) bool { return o.UID == uid })
}

// predict predicts the round. A collector that was down knows only what it finds.
func (t *trial) predict(mode sample.Mode) {
	g := t.graph()
	t.prediction = rules.Predict(g, t.events(g, mode)...)
	t.doubtful = t.doubtful || !t.prediction.Deterministic()
	if mode == sample.Down {
		t.memory = newMemory()
	} else {
		t.recall(mode)
	}
	t.memory.note(g)
}

// recall predicts with what the collector may remember.
func (t *trial) recall(mode sample.Mode) {
	g := graphOf(append(slices.Clone(t.objects), t.memory.stand(t.objects)...))
	due := t.memory.recall(g)
	if len(due) > 0 || g.Len() > len(t.objects) {
		t.recalled = rules.Predict(g, append([]rules.Event{rules.Reconsidered(due...)}, t.events(g, mode)...)...)
	}
}

// end remembers what is left of a round that agrees.
func (t *trial) end(all live.Objects) {
	t.memory.noteOpen(t.prediction)
	t.memory.note(graphOf(t.space.Objects(all)))
}

// graph returns the graph of the objects as they are now.
func (t *trial) graph() *graph.Graph { return graphOf(t.objects) }

func graphOf(objects []graph.Object) *graph.Graph {
	b := graph.NewBuilder(knownTypes)
	for _, o := range objects {
		if err := b.Add(o); err != nil {
			panic(err) // objects of a space have kind, name and uid
		}
	}
	return b.Graph()
}

func (t *trial) events(g *graph.Graph, mode sample.Mode) []rules.Event {
	if mode == sample.Down {
		return []rules.Event{rules.Restarted()}
	}
	var events []rules.Event
	var made []graph.ID
	for _, uid := range t.made {
		if id, ok := g.Find(uid); ok {
			made = append(made, id)
		}
	}
	if len(made) > 0 {
		events = append(events, rules.Created(made...))
	}
	for _, step := range t.deleted {
		if id, ok := g.Find(step.Object); ok {
			events = append(events, rules.Deleted(step.Policy, id))
		}
	}
	return events
}

// agrees reports whether every object is as predicted.
func (t *trial) agrees(all live.Objects) bool {
	return t.allows(t.prediction, all) || t.recalled != nil && t.allows(t.recalled, all)
}

func (t *trial) allows(p *rules.Prediction, all live.Objects) bool {
	g := p.Graph()
	for id := range graph.ID(g.Len()) {
		uid := g.UID(id)
		if t.space.Knows(uid) && !p.Outcome(id).Allows(t.space.State(uid, all)) {
			return false
		}
	}
	return true
}

// describe says what has happened in the round, in the notation.
func (t *trial) describe(mode sample.Mode) []string {
	if mode == sample.Down {
		return []string{"restart"}
	}
	var steps []string
	name := func(uid types.UID) string {
		o := t.objects[t.find(uid)]
		if o.Namespace == "" {
			return o.Kind + " " + o.Name
		}
		return o.Kind + " " + o.Namespace + "/" + o.Name
	}
	for _, uid := range t.made {
		steps = append(steps, "create "+name(uid))
	}
	for _, step := range t.deleted {
		steps = append(steps, fmt.Sprintf("delete %s %s", policyName(step.Policy), name(step.Object)))
	}
	return steps
}

func policyName(p metav1.DeletionPropagation) string {
	switch p {
	case metav1.DeletePropagationBackground:
		return "background"
	case metav1.DeletePropagationForeground:
		return "foreground"
	case metav1.DeletePropagationOrphan:
		return "orphan"
	default:
		return "default"
	}
}
