package collector

import (
	"fmt"
	"strings"
	"time"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
	"labhub.io/teamspace/test/oracle/live"
)

// A type of their own for each scene that takes one away.
var (
	removed  = custom("Removed", "v1", "v1beta1")
	unseen   = custom("Unseen", "v1")
	vanished = custom("Vanished", "v1")
	aged     = custom("Aged", "v1", "v1beta1")

	definitions = []live.Definition{removed, unseen, vanished, aged}
)

func custom(kind string, versions ...string) live.Definition {
	d := live.Definition{Group: "acme.example", Kind: kind, Namespaced: true}
	for _, v := range versions {
		d.Versions = append(d.Versions, live.Version{Name: v})
	}
	return d
}

// knows tells the scene of a type that is served.
func (s *row) knows(d live.Definition, traits string) {
	for _, v := range d.Versions {
		s.Serves(d.Group+"/"+v.Name, d.Kind, "namespaced "+traits)
	}
}

const (
	// window is longer than the half minute for which the collector may go on with an
	// old mapping.
	window = 50 * time.Second

	// probed is when a child of an absent owner is surely deleted, on a machine that has
	// other things to do. It takes the collector some milliseconds.
	probed = 4 * time.Second
)

// typeRemoved is row R14 with its corrections. With the type its objects go, and what
// they own goes while the collector still maps the type, whichever version the
// reference names (D4). Afterwards it does not map: what is made then leaks, also if
// its owner is known to be absent (D3), unless something else has it looked at.
func typeRemoved(s *row) {
	s.knows(removed, "")
	s.Plays(`
		Removed:acme.example/v1 a/one
		Removed:acme.example/v1 a/two
		Removed:acme.example/v1 a/three
		ConfigMap a/preferred -> Removed:acme.example/v1 one
		ConfigMap a/other -> Removed:acme.example/v1beta1 two
	`, `
		Removed a/one
		Removed a/two
		Removed a/three
		ConfigMap a/preferred -> Removed one
		ConfigMap a/other -> Removed:acme.example/v1beta1 two
	`)
	if err := s.lab.cluster.Undefine(s.Context(), removed); err != nil {
		s.Fatal(err)
	}
	s.knows(removed, "vanished-recently")
	s.Becomes("")
	s.awaitMapped("acme.example/v1", "Removed", false)
	s.knows(removed, "vanished-earlier")
	s.Plays(`
		ConfigMap a/cached -> Removed:acme.example/v1 one
		ConfigMap a/cached2 -> Removed:acme.example/v1 one; ConfigMap nobody
		ConfigMap a/unknown -> Removed:acme.example/v1 three
		ConfigMap a/unknown2 -> Removed:acme.example/v1 three; ConfigMap nobody
	`, `
		ConfigMap a/cached -> Removed one
		ConfigMap a/unknown -> Removed three
		ConfigMap a/unknown2 -> Removed three; ConfigMap nobody
	`)
	s.classified("Removed:acme.example/v1 one", true, rules.Absent, rules.K1)
	s.classified("Removed:acme.example/v1 three", false, rules.Unresolvable, rules.K2)
}

// awaitMapped waits until the collector maps a type, or does not any more, as probes
// show whose owners do not exist: as long as it does it deletes them.
func (s *row) awaitMapped(apiVersion, kind string, mapped bool) {
	s.Helper()
	began := time.Now()
	for i := 0; time.Since(began) < window; i++ {
		name := fmt.Sprintf("probe%d-%d", began.Unix(), i)
		s.Create(s.object(fmt.Sprintf("ConfigMap a/%s -> %s:%s %s =%s", name, kind, apiVersion, name, name)))
		died := s.diesWithin(name, probed)
		if !died {
			s.Request("delete background ConfigMap a/" + name)
		}
		if died == mapped {
			return
		}
	}
	s.Fatalf("after %s %s is still mapped: %t", window, kind, !mapped)
}

// object reads one object in the notation.
func (s *row) object(line string) graph.Object {
	s.Helper()
	return s.Parse(line).Graph.Object(0)
}

// diesWithin reports whether a probe is deleted within the time.
func (s *row) diesWithin(name string, within time.Duration) bool {
	s.Helper()
	for began := time.Now(); time.Since(began) < within; {
		if !strings.Contains(s.Print(), name+" ") {
			return true
		}
	}
	return false
}

// classified checks what Classify makes of a reference of a namespaced object, if the
// collector has or has not cached its owner as absent.
func (s *row) classified(reference string, cached bool, want rules.Class, row rules.Rule) {
	s.Helper()
	g := s.Parse("ConfigMap a/any -> " + reference).Graph
	ref := g.Reference(0)
	c := rules.Classify("a", ref.OwnerReference, rules.Facts{Mapping: ref.Mapping, Cached: cached, Answer: rules.NotFound})
	if c.Class != want || c.Rule != row {
		s.Errorf("%s is %s (%s), want %s (%s)", reference, c.Class, c.Rule, want, row)
	}
}

// removedUnseenFirst begins R14-restart: a collector that has not seen the owners go
// knows nothing of the type.
func removedUnseenFirst(s *row) {
	s.knows(unseen, "")
	s.Plays(`
		Unseen:acme.example/v1 a/owner
		ConfigMap a/child -> Unseen:acme.example/v1 owner
	`, `
		Unseen a/owner
		ConfigMap a/child -> Unseen owner
	`)
}

func removedUnseen(s *row) {
	if err := s.lab.cluster.Undefine(s.Context(), unseen); err != nil {
		s.Fatal(err)
	}
	s.knows(unseen, "not-served")
}

func removedUnseenAfter(s *row) {
	s.Plays("restart", "ConfigMap a/child -> Unseen owner")
}

// justRemoved is row D1 for a type: for up to half a minute the collector maps it
// still, reads 404, and takes the owner for absent. Owners without dependents are not
// in its cache.
func justRemoved(s *row) {
	s.knows(vanished, "")
	s.Plays(`
		Vanished:acme.example/v1 a/owner
	`, `
		Vanished a/owner
	`)
	if err := s.lab.cluster.Undefine(s.Context(), vanished); err != nil {
		s.Fatal(err)
	}
	s.knows(vanished, "vanished-recently")
	// At which moment of the half minute this is, nobody knows: the child may be late.
	p := s.Predict("ConfigMap a/child -> Vanished:acme.example/v1 owner")
	s.Create(s.object("ConfigMap a/child -> Vanished:acme.example/v1 owner"))
	id, _ := p.Graph().Find("ConfigMap/a/child")
	if got := p.Outcome(id).Fates; got != rules.Live|rules.Gone {
		s.Errorf("the child is predicted to be %s, want %s", got, rules.Live|rules.Gone)
	}
	s.Eventually("the child to be judged", func() error {
		if text := s.Print(); text != "" && !strings.HasPrefix(text, "ConfigMap a/child ->") {
			return fmt.Errorf("there is %s", text)
		}
		return nil
	})
	s.Compare(p)
	s.awaitMapped("acme.example/v1", "Vanished", false)
	s.knows(vanished, "vanished-earlier")
	s.Plays(`
		ConfigMap a/later -> Vanished:acme.example/v1 another
	`, s.Print()+`
		ConfigMap a/later -> Vanished another
	`)
}

// versionGone is rows D1 and D2 for a version. Not served any more, it costs new
// children of living owners their life until the collector notices; served again, it
// still costs those whose owner was cached as absent meanwhile.
func versionGone(s *row) {
	s.knows(aged, "")
	s.Plays(`
		Aged:acme.example/v1 a/owner1
		Aged:acme.example/v1 a/owner2
		Aged:acme.example/v1 a/owner3
		Aged:acme.example/v1 a/spared
		ConfigMap a/old -> Aged:acme.example/v1beta1 spared
	`, `
		Aged a/owner1
		Aged a/owner2
		Aged a/owner3
		Aged a/spared
		ConfigMap a/old -> Aged:acme.example/v1beta1 spared
	`)
	cached := s.loseChild()
	s.awaitMapped("acme.example/v1beta1", "Aged", false)
	s.Serves("acme.example/v1beta1", "Aged", "namespaced vanished-earlier")
	rest := s.Print()
	s.Plays(`
		ConfigMap a/kept -> Aged:acme.example/v1beta1 spared
	`, rest+`
		ConfigMap a/kept -> Aged:acme.example/v1beta1 spared
	`)
	s.serveBeta(true)
	s.knows(aged, "served-again")
	s.Serves("acme.example/v1", "Aged", "namespaced")
	s.awaitMapped("acme.example/v1beta1", "Aged", true)
	rest = s.Print()
	s.Plays(fmt.Sprintf(`
		ConfigMap a/again -> Aged:acme.example/v1beta1 %s
		ConfigMap a/again2 -> Aged:acme.example/v1beta1 spared
	`, cached), rest+`
		ConfigMap a/again2 -> Aged:acme.example/v1beta1 spared
	`)
	s.classified("Aged:acme.example/v1beta1 "+cached, true, rules.Absent, rules.K1)
}

// versionBack: a new collector remembers nothing.
func versionBack(s *row) {
	s.knows(aged, "")
	rest := s.Print()
	s.Plays(`
		ConfigMap a/again3 -> Aged:acme.example/v1beta1 owner1
		ConfigMap a/again4 -> Aged:acme.example/v1beta1 owner2
		ConfigMap a/again5 -> Aged:acme.example/v1beta1 owner3
	`, rest+`
		ConfigMap a/again3 -> Aged:acme.example/v1beta1 owner1
		ConfigMap a/again4 -> Aged:acme.example/v1beta1 owner2
		ConfigMap a/again5 -> Aged:acme.example/v1beta1 owner3
	`)
}

// loseChild stops serving the old version and loses the child of a living owner, whose
// name it returns. Should the collector notice in that very moment, the child lives,
// and another is tried.
func (s *row) loseChild() string {
	s.Helper()
	for i := range 3 {
		owner := fmt.Sprintf("owner%d", i+1)
		s.serveBeta(false)
		s.Serves("acme.example/v1beta1", "Aged", "namespaced vanished-recently")
		child := fmt.Sprintf("child%d", i+1)
		line := fmt.Sprintf("ConfigMap a/%s -> Aged:acme.example/v1beta1 %s", child, owner)
		p := s.Predict(line)
		s.Create(s.object(line))
		if s.diesWithin(child, probed) {
			s.Compare(p)
			return owner
		}
		s.Request("delete background ConfigMap a/" + child)
		s.serveBeta(true)
		s.knows(aged, "")
		s.awaitMapped("acme.example/v1beta1", "Aged", true)
	}
	s.Fatal("no child of a living owner was deleted")
	return ""
}

func (s *row) serveBeta(served bool) {
	s.Helper()
	d := custom("Aged", "v1", "v1beta1")
	d.Versions[1].Unserved = !served
	if err := s.lab.cluster.Define(s.Context(), d); err != nil {
		s.Fatal(err)
	}
}
