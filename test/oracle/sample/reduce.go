package sample

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
)

// Reduction makes a sample smaller in one respect. Several can be applied one after
// the other; one that finds nothing to do changes nothing.
type Reduction func(*Sample)

// Truncate returns the sample without the rounds after the given one.
func (s *Sample) Truncate(round int) *Sample {
	short := s.clone()
	short.Rounds = short.Rounds[:round+1]
	return short
}

// Reduce returns the sample made smaller by all of the reductions.
func (s *Sample) Reduce(all ...Reduction) *Sample {
	smaller := s.clone()
	for _, r := range all {
		r(smaller)
	}
	return smaller
}

// Size counts what a reader has to look at.
func (s *Sample) Size() int {
	size := 0
	for _, o := range s.All() {
		size += 3 + len(o.Finalizers)
		for _, ref := range o.Owners {
			size += 2 + boolean(ref.BlockOwnerDeletion != nil) + boolean(ref.Controller != nil)
		}
	}
	for _, r := range s.Rounds {
		size += 2 * len(r.Steps)
	}
	return size
}

func (s *Sample) clone() *Sample {
	c := &Sample{Rounds: slices.Clone(s.Rounds)}
	for _, o := range s.Objects {
		c.Objects = append(c.Objects, cloneObject(o))
	}
	for i := range c.Rounds {
		c.Rounds[i].Steps = slices.Clone(c.Rounds[i].Steps)
		for n := range c.Rounds[i].Steps {
			step := &c.Rounds[i].Steps[n]
			step.New = cloneObject(step.New)
		}
	}
	return c
}

func cloneObject(o graph.Object) graph.Object {
	o.Finalizers = slices.Clone(o.Finalizers)
	o.Owners = slices.Clone(o.Owners)
	return o
}

// Reductions returns all ways to make the sample smaller by one thing: an object, a
// reference, a finalizer, a step, a flag. The larger ones come first.
func (s *Sample) Reductions() []Reduction {
	var all []Reduction
	for _, o := range s.All() {
		all = append(all, dropObject(o.UID))
	}
	for round := range s.Rounds {
		for n := range s.Rounds[round].Steps {
			all = append(all, dropStep(round, s.Rounds[round].Steps[n]))
		}
	}
	for _, o := range s.All() {
		for _, ref := range o.Owners {
			all = append(all, dropReference(o.UID, ref))
			if ref.BlockOwnerDeletion != nil || ref.Controller != nil {
				all = append(all, dropFlags(o.UID, ref))
			}
		}
		for _, f := range o.Finalizers {
			all = append(all, dropFinalizer(o.UID, f))
		}
	}
	return all
}

// dropObject removes an object with all that names it.
func dropObject(uid types.UID) Reduction {
	names := func(ref metav1.OwnerReference) bool { return ref.UID == uid }
	return func(s *Sample) {
		s.Objects = slices.DeleteFunc(s.Objects, func(o graph.Object) bool { return o.UID == uid })
		for i := range s.Objects {
			s.Objects[i].Owners = slices.DeleteFunc(s.Objects[i].Owners, names)
		}
		for i := range s.Rounds {
			r := &s.Rounds[i]
			r.Steps = slices.DeleteFunc(r.Steps, func(step Step) bool { return step.Object == uid || step.Reference.UID == uid })
			for n := range r.Steps {
				r.Steps[n].New.Owners = slices.DeleteFunc(r.Steps[n].New.Owners, names)
			}
		}
	}
}

func dropStep(round int, step Step) Reduction {
	return func(s *Sample) {
		steps := s.Rounds[round].Steps
		if i := slices.IndexFunc(steps, func(other Step) bool { return sameStep(step, other) }); i >= 0 {
			s.Rounds[round].Steps = slices.Delete(steps, i, i+1)
		}
	}
}

func sameStep(a, b Step) bool {
	return a.Verb == b.Verb && a.Object == b.Object && a.Policy == b.Policy && a.Reference.UID == b.Reference.UID
}

func dropReference(uid types.UID, ref metav1.OwnerReference) Reduction {
	return func(s *Sample) {
		s.edit(uid, func(o *graph.Object) {
			if i := slices.Index(o.Owners, ref); i >= 0 {
				o.Owners = slices.Delete(o.Owners, i, i+1)
			}
		})
	}
}

func dropFlags(uid types.UID, ref metav1.OwnerReference) Reduction {
	return func(s *Sample) {
		s.edit(uid, func(o *graph.Object) {
			if i := slices.Index(o.Owners, ref); i >= 0 {
				o.Owners[i].BlockOwnerDeletion, o.Owners[i].Controller = nil, nil
			}
		})
	}
}

func dropFinalizer(uid types.UID, finalizer string) Reduction {
	return func(s *Sample) {
		s.edit(uid, func(o *graph.Object) {
			o.Finalizers = slices.DeleteFunc(o.Finalizers, func(f string) bool { return f == finalizer })
		})
	}
}

// edit changes an object, wherever it is made.
func (s *Sample) edit(uid types.UID, change func(*graph.Object)) {
	for i := range s.Objects {
		if s.Objects[i].UID == uid {
			change(&s.Objects[i])
		}
	}
	for i := range s.Rounds {
		for n := range s.Rounds[i].Steps {
			if step := &s.Rounds[i].Steps[n]; step.Verb == Create && step.Object == uid {
				change(&step.New)
			}
		}
	}
}
