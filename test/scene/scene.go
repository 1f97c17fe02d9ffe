// Package scene plays small stories on a real cluster, told in the notation of
// ownershiptest: what is there, what happens, and what has to be left. What is left is
// compared with what package rules predicts of it, too.
package scene

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/ownershiptest"
	"labhub.io/teamspace/ownership/rules"
	"labhub.io/teamspace/test/oracle/live"
	"labhub.io/teamspace/test/oracle/sample"
	"labhub.io/teamspace/test/world"
)

const (
	// patience covers the collector's rediscovery, twice a minute, and the pause after
	// which it comes back to what it could not judge.
	patience = 3 * time.Minute
	// stays is how long a state has to last to be the end.
	stays = 3 * time.Second
)

// Scene is a story in a space of its own.
type Scene struct {
	*testing.T

	// Space is where its objects are.
	Space *live.Space

	cluster *live.Cluster
	types   map[string]string // lines of the notation for the types that only this scene has
}

// New returns a scene in a space that bears its name.
func New(t *testing.T, cluster *live.Cluster, name string) *Scene {
	t.Helper()
	prefix := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return &Scene{T: t, Space: cluster.NewSpace(prefix), cluster: cluster, types: map[string]string{}}
}

// With returns the scene for another test.
func (s *Scene) With(t *testing.T) *Scene {
	c := *s
	c.T = t
	return &c
}

// Serves sets what is known of a version of a type of this scene from now on.
func (s *Scene) Serves(apiVersion, kind, traits string) {
	s.types[apiVersion+" "+kind] = fmt.Sprintf("type %s %s %s\n", apiVersion, kind, traits)
}

// typeLines are the types in a fixed order: the first version of a kind is meant by the
// kind alone.
func (s *Scene) typeLines() string {
	var lines []string
	for _, line := range s.types {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// Plays creates the objects of the text, then sends its DELETE requests. It waits until
// the objects of the scene are those of want, which have to be among what is predicted,
// and stay that way.
func (s *Scene) Plays(text, want string) {
	s.Helper()
	p := s.Predict(text)
	for id := range graph.ID(p.Graph().Len()) {
		if o := p.Graph().Object(id); !s.Space.Knows(o.UID) {
			s.Create(o)
		}
	}
	for line := range strings.Lines(text) {
		s.Request(strings.TrimSpace(line))
	}
	s.ends(p, want)
}

// Predict predicts what becomes of the objects that are there now and those of the
// text.
func (s *Scene) Predict(text string) *rules.Prediction {
	s.Helper()
	var objects, steps strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if _, _, ok := deletion(line); ok || line == "restart" {
			fmt.Fprintln(&steps, line)
			continue
		}
		fmt.Fprintln(&objects, line)
	}
	scenario := s.Parse(s.Print() + objects.String())
	var created strings.Builder
	for id := range graph.ID(scenario.Graph.Len()) {
		if o := scenario.Graph.Object(id); !s.Space.Knows(o.UID) {
			fmt.Fprintf(&created, "create %s\n", title(o))
		}
	}
	return s.Parse(s.Print() + objects.String() + created.String() + steps.String()).Predict()
}

// Parse reads a text in the notation, which may use the types of the scene.
func (s *Scene) Parse(text string) *ownershiptest.Scenario {
	s.Helper()
	scenario, err := ownershiptest.Parse(s.typeLines() + text)
	if err != nil {
		s.Fatal(err)
	}
	return scenario
}

func title(o graph.Object) string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Print writes the objects that are there now.
func (s *Scene) Print() string {
	s.Helper()
	b := graph.NewBuilder(s.Parse("").Graph.Types())
	for _, o := range s.Objects() {
		if err := b.Add(o); err != nil {
			s.Fatal(err)
		}
	}
	g := b.Graph()
	var text strings.Builder
	for id := range graph.ID(g.Len()) {
		fmt.Fprintln(&text, ownershiptest.PrintState(g, id, live.StateOf(g.Object(id))))
	}
	return text.String()
}

// Objects are those that are there now.
func (s *Scene) Objects() []graph.Object {
	s.Helper()
	all, err := s.cluster.List(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return s.Space.Objects(all)
}

// Create creates an object; references that lead to itself it gets afterwards.
func (s *Scene) Create(o graph.Object) {
	s.Helper()
	bare := o
	bare.Owners = slices.DeleteFunc(slices.Clone(o.Owners), func(ref metav1.OwnerReference) bool { return ref.UID == o.UID })
	s.Eventually("creating "+title(o), func() error {
		_, err := s.Space.Create(s.Context(), bare)
		return err
	})
	if len(bare.Owners) < len(o.Owners) {
		s.SetOwners(o.UID, o.Owners)
	}
}

// SetOwners replaces the references of an object.
func (s *Scene) SetOwners(uid types.UID, owners []metav1.OwnerReference) {
	s.Helper()
	if _, err := s.Space.SetOwners(s.Context(), uid, owners); err != nil {
		s.Fatal(err)
	}
}

// Release takes the finalizers of an object away.
func (s *Scene) Release(uid types.UID) {
	s.Helper()
	if err := s.Space.SetFinalizers(s.Context(), uid, nil); err != nil {
		s.Fatal(err)
	}
}

// Request sends the DELETE of a line, if that is what it says.
func (s *Scene) Request(line string) {
	s.Helper()
	uid, policy, ok := deletion(line)
	if !ok {
		return
	}
	if err := s.Space.Delete(s.Context(), uid, policy); err != nil {
		s.Fatal(err)
	}
}

// deletion reads "delete POLICY KIND NAME".
func deletion(line string) (types.UID, metav1.DeletionPropagation, bool) {
	words := strings.Fields(line)
	if len(words) != 4 || words[0] != "delete" {
		return "", "", false
	}
	policies := map[string]metav1.DeletionPropagation{
		"background": metav1.DeletePropagationBackground, "foreground": metav1.DeletePropagationForeground,
		"orphan": metav1.DeletePropagationOrphan,
	}
	namespace, name, found := strings.Cut(words[3], "/")
	if !found {
		namespace, name = "", words[3]
	}
	return sample.UID(words[2], namespace, name), policies[words[1]], true
}

// Becomes waits until the objects of the scene are those of want, and stay that way,
// after something that no event of a prediction tells.
func (s *Scene) Becomes(want string) {
	s.Helper()
	s.ends(nil, want)
}

func (s *Scene) ends(p *rules.Prediction, want string) {
	s.Helper()
	var since time.Time
	s.Eventually("what is left", func() error {
		if is := s.Print(); lines(is) != lines(want) {
			since = time.Time{}
			return fmt.Errorf("there is\n%swanted\n%s\n%s", is, lines(want), picture(p))
		}
		if since.IsZero() {
			since = time.Now()
		}
		if time.Since(since) < stays {
			return errors.New("it has not stayed for long enough")
		}
		return nil
	})
	s.Compare(p)
}

// Compare fails the test if what there is has not been predicted.
func (s *Scene) Compare(p *rules.Prediction) {
	s.Helper()
	if p == nil {
		return
	}
	all, err := s.cluster.List(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	g := p.Graph()
	for id := range graph.ID(g.Len()) {
		if is := s.Space.State(g.UID(id), all); !p.Outcome(id).Allows(is) {
			s.Fatalf("the rules do not allow\n%s\nof\n%s", ownershiptest.PrintState(g, id, is), picture(p))
		}
	}
}

func picture(p *rules.Prediction) string {
	if p == nil {
		return ""
	}
	return "predicted\n" + ownershiptest.Print(p.Graph()) + ownershiptest.Picture(p)
}

// lines brings a text into one form: trimmed lines, sorted.
func lines(text string) string {
	var list []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line+"\n")
		}
	}
	slices.Sort(list)
	return strings.Join(list, "")
}

// Eventually polls until the check returns nil.
func (s *Scene) Eventually(what string, check func() error) {
	s.Helper()
	world.Eventually(s.T, patience, what, check)
}
