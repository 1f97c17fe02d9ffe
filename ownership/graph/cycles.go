package graph

import "slices"

// Cycles returns the groups of two or more objects that own each other, in
// whatever direction round, and the objects that own themselves (R18, R19).
// Objects of a group are in ascending order, groups by their first object.
// References count by uid, as in the collector's graph, whether or not their
// coordinates are right. It does not recurse: a cycle of any length ends.
func (g *Graph) Cycles() [][]ID {
	s := scc{
		g: g, number: make([]int32, g.objects), low: make([]int32, g.objects),
		next: make([]int32, g.objects), on: make([]bool, g.objects),
	}
	for id := range g.objects {
		if s.number[id] == 0 {
			s.walk(ID(id))
		}
	}
	slices.SortFunc(s.found, func(a, b []ID) int { return int(a[0]) - int(b[0]) })
	return s.found
}

// OwnsItself reports whether the object has a reference with its own uid.
func (g *Graph) OwnsItself(id ID) bool {
	first, last := g.ReferenceRange(id)
	for r := first; r < last; r++ {
		if g.refs[r].owner == id {
			return true
		}
	}
	return false
}

// scc is Tarjan's algorithm with a stack of its own.
type scc struct {
	g           *Graph
	count       int32
	number, low []int32 // number 0: not seen yet
	next        []int32 // the object's next reference to follow
	on          []bool
	stack, path []ID
	found       [][]ID
}

func (s *scc) walk(root ID) {
	s.enter(root)
	for len(s.path) > 0 {
		id := s.path[len(s.path)-1]
		first, last := s.g.ReferenceRange(id)
		if r := first + int(s.next[id]); r < last {
			s.next[id]++
			s.follow(id, s.g.refs[r].owner)
			continue
		}
		s.path = s.path[:len(s.path)-1]
		if len(s.path) > 0 {
			parent := s.path[len(s.path)-1]
			s.low[parent] = min(s.low[parent], s.low[id])
		}
		if s.low[id] == s.number[id] {
			s.take(id)
		}
	}
}

func (s *scc) enter(id ID) {
	s.count++
	s.number[id], s.low[id], s.on[id] = s.count, s.count, true
	s.stack = append(s.stack, id)
	s.path = append(s.path, id)
}

func (s *scc) follow(id, owner ID) {
	switch {
	case s.g.Virtual(owner):
	case s.number[owner] == 0:
		s.enter(owner)
	case s.on[owner]:
		s.low[id] = min(s.low[id], s.number[owner])
	}
}

// take removes one finished group from the stack and keeps it if it is a cycle.
func (s *scc) take(root ID) {
	at := len(s.stack) - 1
	for s.stack[at] != root {
		at--
	}
	group := slices.Clone(s.stack[at:])
	s.stack = s.stack[:at]
	for _, id := range group {
		s.on[id] = false
	}
	if len(group) > 1 || s.g.OwnsItself(root) {
		slices.Sort(group)
		s.found = append(s.found, group)
	}
}
