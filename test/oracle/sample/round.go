package sample

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
)

// Modes are the modes of the rounds of every sample. All samples of a run share
// one collector, and so go through them together.
func Modes() []Mode { return []Mode{Down, Running, Paused, Paused, Down} }

func (d *drawer) drawRounds() {
	deleted := map[types.UID]bool{}
	touched := map[types.UID]bool{}
	for i, mode := range Modes() {
		r := Round{Mode: mode}
		for range d.steps(i) {
			step := d.step(i, deleted, touched)
			if mode == Paused && len(r.Steps) > 0 && (r.Steps[0].Verb == Delete) != (step.Verb == Delete) {
				continue
			}
			d.note(step, mode, deleted, touched)
			r.Steps = append(r.Steps, step)
		}
		// In a round that nobody watches, what is made is made before anything is deleted.
		slices.SortStableFunc(r.Steps, func(a, b Step) int { return boolean(a.Verb == Delete) - boolean(b.Verb == Delete) })
		d.s.Rounds = append(d.s.Rounds, r)
	}
}

// note remembers what a step does.
func (d *drawer) note(step Step, mode Mode, deleted, touched map[types.UID]bool) {
	switch step.Verb {
	case Delete:
		deleted[step.Object] = true
	case Create:
		d.fresh = append(d.fresh, step.New)
		touched[step.Object] = mode != Down
	default:
		touched[step.Object] = mode != Down
	}
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// steps draws how many steps a round has.
func (d *drawer) steps(round int) int {
	switch round {
	case 0:
		return d.random.IntN(3)
	case 1:
		return 1
	case 2:
		return 1 + d.random.IntN(3)
	case 3:
		return d.random.IntN(3)
	default:
		return d.random.IntN(2)
	}
}

func (d *drawer) step(round int, deleted, touched map[types.UID]bool) Step {
	verb := Delete
	switch {
	case round == 0 || d.oneIn(2):
	case round == 3:
		// Mostly a second DELETE of what the rounds before left terminating.
		if again := d.known(deleted); len(again) > 0 {
			return Step{Verb: Delete, Object: pick(d, again), Policy: pick(d, policies)}
		}
	default:
		verb = pick(d, []Verb{Delete, Create, Refer, Edit})
	}
	switch verb {
	case Create:
		return d.create()
	case Refer, Edit:
		if step, ok := d.change(verb, touched); ok {
			return step
		}
	}
	return Step{Verb: Delete, Object: d.target(), Policy: pick(d, policies)}
}

// known lists a set in the order of the objects, so that a seed gives the same
// sample each time.
func (d *drawer) known(set map[types.UID]bool) []types.UID {
	var list []types.UID
	for _, o := range d.objects() {
		if set[o.UID] {
			list = append(list, o.UID)
		}
	}
	return list
}

var policies = []metav1.DeletionPropagation{
	"", metav1.DeletePropagationBackground, metav1.DeletePropagationBackground,
	metav1.DeletePropagationForeground, metav1.DeletePropagationForeground, metav1.DeletePropagationForeground,
	metav1.DeletePropagationOrphan,
}

// target draws what to delete, objects with dependents more often.
func (d *drawer) target() types.UID {
	all := d.objects()
	o := pick(d, all)
	for try := 0; try < 2 && !owns(all, o.UID); try++ {
		o = pick(d, all)
	}
	return o.UID
}

func owns(all []graph.Object, uid types.UID) bool {
	return slices.ContainsFunc(all, func(o graph.Object) bool {
		return slices.ContainsFunc(o.Owners, func(ref metav1.OwnerReference) bool { return ref.UID == uid })
	})
}

// objects returns what is there so far.
func (d *drawer) objects() []graph.Object { return append(slices.Clone(d.s.Objects), d.fresh...) }

// create draws a new object. Its own uid it cannot know.
func (d *drawer) create() Step {
	o := d.object()
	all := d.objects()
	o.Owners = d.references(all, o, 1+d.random.IntN(3))
	o.Owners = slices.DeleteFunc(o.Owners, func(ref metav1.OwnerReference) bool { return ref.UID == o.UID })
	return Step{Verb: Create, Object: o.UID, New: o}
}

// change draws a reference that is added or edited. An object has that once in its
// life: the collector looks at what was added alone, while a prediction is told of
// the object.
func (d *drawer) change(verb Verb, touched map[types.UID]bool) (Step, bool) {
	all := d.objects()
	o := pick(d, all)
	if touched[o.UID] {
		return Step{}, false
	}
	step := Step{Verb: verb, Object: o.UID, Reference: d.reference(all, o)}
	if verb == Edit {
		if len(o.Owners) == 0 {
			return Step{}, false
		}
		step.Reference = pick(d, o.Owners)
		other := d.reference(all, o)
		if d.oneIn(2) {
			step.Reference.Name = other.Name
		} else {
			step.Reference.APIVersion, step.Reference.Kind = other.APIVersion, other.Kind
		}
	}
	return step, true
}
