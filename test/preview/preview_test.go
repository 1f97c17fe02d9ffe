package preview

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/test/oracle/live"
	"labhub.io/teamspace/test/oracle/sample"
)

// graphs is as many as an ordinary run has time for; `make preview GRAPHS=100` takes more.
var (
	graphs = flag.Int("graphs", 20, "how many random graphs are compared")
	seed   = flag.Uint64("seed", 1, "the seed of the graphs")
)

// patience covers the pauses after which the collector comes back to what it could not do,
// which double.
const patience = 3 * time.Minute

// TestAgreement: of each graph one object is deleted, in one of kubectl's three ways; every
// object of the graph then is as preview said, unless it said that this is open.
func TestAgreement(t *testing.T) {
	l := newLab(t)
	all := l.build(t)
	l.settle(t)
	before := l.list(t)
	var previewed []*prediction
	for i, g := range all {
		target, ok := g.target(before, i)
		if !ok {
			continue // the collector left nothing of it
		}
		previewed = append(previewed, l.preview(t, g, target, cascades[i%len(cascades)]))
	}
	if len(previewed) < *graphs/2 {
		t.Fatalf("of %d graphs only %d have something to delete", *graphs, len(previewed))
	}
	for _, p := range previewed {
		l.kubectl(t, p)
	}
	l.settle(t)
	l.await(t, previewed, before)
	after := l.list(t)
	reached, open := 0, 0
	for _, p := range previewed {
		reached += len(p.ends)
		open += p.open
		if wrong := p.disagreement(before, after); wrong != "" {
			t.Errorf("graph %d of seed %d: %s --cascade=%s: %s\n%s", p.graph.number, *seed, p.target.UID, p.cascade, wrong, p.out)
		}
	}
	t.Logf("%d graphs, %d objects foretold, %d of them open", len(previewed), reached, open)
	if reached <= len(previewed) {
		t.Error("no deletion reached anything but its target: the graphs are of no use")
	}
}

var cascades = []string{"background", "foreground", "orphan"}

// drawn is a random graph in its space.
type drawn struct {
	number int
	sample *sample.Sample
	space  *live.Space
}

// build makes all graphs: first the objects, then the references that had to wait for their
// owners.
func (l *lab) build(t *testing.T) []*drawn {
	t.Helper()
	var all []*drawn
	for number := range *graphs {
		all = append(all, &drawn{
			number: number, sample: sample.Draw(*seed, uint64(number)), space: l.cluster.NewSpace(fmt.Sprintf("p%d", number)),
		})
	}
	err := live.Each(all, func(_ int, g *drawn) error {
		for _, o := range g.sample.Objects {
			bare := o
			bare.Owners = nil
			if _, err := g.space.Create(t.Context(), bare); err != nil {
				return err
			}
		}
		for _, o := range g.sample.Objects {
			if len(o.Owners) == 0 {
				continue
			}
			// What the collector has deleted meanwhile is not part of the graph any more.
			if _, err := g.space.SetOwners(t.Context(), o.UID, o.Owners); err != nil && !gone(err) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// target is an object of the graph that is there and not being deleted, one with dependents
// if there is any.
func (g *drawn) target(all live.Objects, turn int) (object, bool) {
	var leaves, owners []object
	objects := g.space.Objects(all)
	for _, o := range objects {
		if o.Deleting {
			continue
		}
		found := object{
			Kind: o.Kind, APIVersion: o.APIVersion, Namespace: o.Namespace, Name: g.space.RealName(o.Name), UID: g.space.RealUID(o.UID),
		}
		if o.Namespace != "" {
			found.Namespace = g.space.RealName(o.Namespace)
		}
		owns := false
		for _, other := range objects {
			owns = owns || slices.ContainsFunc(other.Owners, refersTo(o.UID))
		}
		if owns {
			owners = append(owners, found)
		} else {
			leaves = append(leaves, found)
		}
	}
	if len(owners) > 0 {
		return owners[turn%len(owners)], true
	}
	if len(leaves) > 0 {
		return leaves[turn%len(leaves)], true
	}
	return object{}, false
}

// await waits for those that are not yet as foretold: the collector comes back to some
// objects after a pause.
func (l *lab) await(t *testing.T, previewed []*prediction, before live.Objects) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		after := l.watch.Objects()
		waiting := slices.ContainsFunc(previewed, func(p *prediction) bool { return p.disagreement(before, after) != "" })
		if !waiting {
			return
		}
		l.settle(t)
	}
}

// prediction is what preview said of one deletion.
type prediction struct {
	graph   *drawn
	target  object
	cascade string
	out     string
	ends    map[types.UID]string // the list by uid
	open    int
}

// disagreement compares every object of the graph with what was said of it; what was not
// spoken of must not have changed.
func (p *prediction) disagreement(before, after live.Objects) string {
	var wrong []string
	for _, o := range p.graph.sample.Objects {
		uid := p.graph.space.RealUID(o.UID)
		was, is := p.graph.space.State(o.UID, before), p.graph.space.State(o.UID, after)
		foretold := p.ends[uid]
		if o.Kind == "Event" && foretold == "" {
			continue // they are never collected, and not spoken of
		}
		if !agrees(foretold, was, is) {
			wrong = append(wrong, fmt.Sprintf("%s was to be %q, was %+v, is %+v", o.UID, foretold, was, is))
		}
	}
	return strings.Join(wrong, "; ")
}
