package collector

import (
	"context"
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
)

const (
	// patience covers the collector's rediscovery, twice a minute, and the pause after
	// which it comes back to what it could not judge.
	patience = 3 * time.Minute
	// stays is how long a state has to last to be the end.
	stays = 3 * time.Second

	pollInterval = 50 * time.Millisecond
)

// scene is one row in a space of its own.
type scene struct {
	*testing.T
	lab   *lab
	space *live.Space
	// types are lines of the notation for the types that only this scene has.
	types map[string]string
}

// with returns the scene for another test.
func (s *scene) with(t *testing.T) *scene {
	c := *s
	c.T = t
	return &c
}

// serves sets what is known of a version of a type of this scene from now on.
func (s *scene) serves(apiVersion, kind, traits string) {
	s.types[apiVersion+" "+kind] = fmt.Sprintf("type %s %s %s\n", apiVersion, kind, traits)
}

// typeLines are the types in a fixed order: the first version of a kind is meant by the
// kind alone.
func (s *scene) typeLines() string {
	var lines []string
	for _, line := range s.types {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// plays creates the objects of the text, then sends its DELETE requests. It waits until
// the objects of the scene are those of want, which have to be among what is predicted,
// and stay that way.
func (s *scene) plays(text, want string) {
	s.Helper()
	p := s.predict(text)
	for id := range graph.ID(p.Graph().Len()) {
		if o := p.Graph().Object(id); !s.space.Knows(o.UID) {
			s.create(o)
		}
	}
	for line := range strings.Lines(text) {
		s.request(strings.TrimSpace(line))
	}
	s.ends(p, want)
}

// predict predicts what becomes of the objects that are there now and those of the
// text.
func (s *scene) predict(text string) *rules.Prediction {
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
	scenario := s.parse(s.print() + objects.String())
	var created strings.Builder
	for id := range graph.ID(scenario.Graph.Len()) {
		if o := scenario.Graph.Object(id); !s.space.Knows(o.UID) {
			fmt.Fprintf(&created, "create %s\n", title(o))
		}
	}
	return s.parse(s.print() + objects.String() + created.String() + steps.String()).Predict()
}

func (s *scene) parse(text string) *ownershiptest.Scenario {
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

// print writes the objects that are there now.
func (s *scene) print() string {
	s.Helper()
	b := graph.NewBuilder(s.parse("").Graph.Types())
	for _, o := range s.objects() {
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

func (s *scene) objects() []graph.Object {
	s.Helper()
	all, err := s.lab.cluster.List(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return s.space.Objects(all)
}

// create creates an object; references that lead to itself it gets afterwards.
func (s *scene) create(o graph.Object) {
	s.Helper()
	bare := o
	bare.Owners = slices.DeleteFunc(slices.Clone(o.Owners), func(ref metav1.OwnerReference) bool { return ref.UID == o.UID })
	s.eventually("creating "+title(o), func() error {
		_, err := s.space.Create(s.Context(), bare)
		return err
	})
	if len(bare.Owners) < len(o.Owners) {
		s.setOwners(o.UID, o.Owners)
	}
}

func (s *scene) setOwners(uid types.UID, owners []metav1.OwnerReference) {
	s.Helper()
	if _, err := s.space.SetOwners(s.Context(), uid, owners); err != nil {
		s.Fatal(err)
	}
}

// release takes the finalizers of an object away.
func (s *scene) release(uid types.UID) {
	s.Helper()
	if err := s.space.SetFinalizers(s.Context(), uid, nil); err != nil {
		s.Fatal(err)
	}
}

// request sends the DELETE of a line, if that is what it says.
func (s *scene) request(line string) {
	s.Helper()
	uid, policy, ok := deletion(line)
	if !ok {
		return
	}
	if err := s.space.Delete(s.Context(), uid, policy); err != nil {
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

// becomes waits until the objects of the scene are those of want, and stay that way,
// after something that no event of a prediction tells.
func (s *scene) becomes(want string) {
	s.Helper()
	s.ends(nil, want)
}

func (s *scene) ends(p *rules.Prediction, want string) {
	s.Helper()
	var since time.Time
	s.eventually("what is left", func() error {
		if is := s.print(); lines(is) != lines(want) {
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
	s.compare(p)
}

// compare fails the test if what there is has not been predicted.
func (s *scene) compare(p *rules.Prediction) {
	s.Helper()
	if p == nil {
		return
	}
	all, err := s.lab.cluster.List(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	g := p.Graph()
	for id := range graph.ID(g.Len()) {
		if is := s.space.State(g.UID(id), all); !p.Outcome(id).Allows(is) {
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

// eventually polls until the check returns nil.
func (s *scene) eventually(what string, check func() error) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			s.Fatalf("%s: not within %s: %v", what, patience, err)
		case <-tick.C:
		}
	}
}
