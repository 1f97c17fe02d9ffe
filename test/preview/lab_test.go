package preview

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/rules"
	"labhub.io/teamspace/test/oracle/live"
	"labhub.io/teamspace/test/oracle/plane"
	"labhub.io/teamspace/test/program"
	"labhub.io/teamspace/test/world"
)

const (
	quietEnough = 1500 * time.Millisecond
	fewQueued   = 2
)

// lab is a control plane with the types of the samples.
type lab struct {
	plane          *plane.Plane
	cluster        *live.Cluster
	watch          *live.Watch
	plugin         string
	kubectlProgram string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := program.Root()
	must(err)
	l := &lab{}
	l.plugin, err = program.Find(root, "kubectl-teamspace")
	must(err)
	l.kubectlProgram, err = program.Find(root, "kubectl")
	must(err)
	l.plane, err = plane.Start(t.Context(), plane.Flags()...)
	must(err)
	t.Cleanup(func() {
		if err := l.plane.Close(); err != nil {
			t.Error(err)
		}
	})
	l.cluster, err = live.New(l.plane.Config)
	must(err)
	must(l.plane.StopCollector(t.Context()))
	for _, d := range live.Definitions() {
		must(l.cluster.Define(t.Context(), d))
	}
	must(l.plane.StartCollector(t.Context()))
	watching, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	l.watch, err = l.cluster.Watch(watching)
	must(err)
	return l
}

// settle waits until nothing moves: for a while no object has changed, and the collector had
// next to nothing to do.
func (l *lab) settle(t *testing.T) {
	t.Helper()
	calm := time.Now()
	world.Eventually(t, patience, "the collector settles", func() error {
		work, err := l.plane.Work(t.Context())
		if err != nil || work.Queued > fewQueued || work.Unfinished > 0.5 {
			calm = time.Now()
		}
		if time.Since(calm) < quietEnough || l.watch.Quiet() < quietEnough {
			return errors.New("something moves still")
		}
		return nil
	})
}

func (l *lab) list(t *testing.T) live.Objects {
	t.Helper()
	all, err := l.cluster.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// object is how preview names one.
type object struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid"`
}

// words name the object for kubectl and for the plugin.
func (o object) words() []string {
	words := []string{o.Kind + version(o.APIVersion) + "/" + o.Name}
	if o.Namespace != "" {
		words = append(words, "-n", o.Namespace)
	}
	return words
}

// version is the suffix that kubectl takes for a version and a group.
func version(apiVersion string) string {
	group, version := filepath.Split(apiVersion)
	if group == "" {
		return ""
	}
	return "." + version + "." + filepath.Clean(group)
}

// lists are those of the document, by their names.
var lists = []string{"deleted", "kept", "pruned", "orphaned", "blocked", "waiting", "nonDeterministic"}

// preview asks the plugin.
func (l *lab) preview(t *testing.T, g *drawn, target object, cascade string) *prediction {
	t.Helper()
	args := append([]string{"--kubeconfig=" + l.plane.Kubeconfig(), "preview", "delete", "--cascade=" + cascade, "-o", "json"}, target.words()...)
	out, err := exec.CommandContext(t.Context(), l.plugin, args...).Output()
	ended, exited := errors.AsType[*exec.ExitError](err)
	if err != nil && (!exited || ended.ExitCode() != 1) {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	var document map[string]json.RawMessage
	if err := json.Unmarshal(out, &document); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p := &prediction{graph: g, target: target, cascade: cascade, out: string(out), ends: map[types.UID]string{}}
	sure := true
	for _, name := range lists {
		var fates []struct {
			Object object `json:"object"`
		}
		if err := json.Unmarshal(document[name], &fates); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		for _, fate := range fates {
			if earlier, twice := p.ends[fate.Object.UID]; twice {
				t.Errorf("%s is %s and %s", fate.Object.UID, earlier, name)
			}
			p.ends[fate.Object.UID] = name
		}
		sure = sure && (len(fates) == 0 || name != "blocked" && name != "nonDeterministic")
		if name == "nonDeterministic" {
			p.open = len(fates)
		}
	}
	if sure != (err == nil) {
		t.Errorf("%v ended with %v\n%s", args, err, out)
	}
	return p
}

// kubectl does what was previewed.
func (l *lab) kubectl(t *testing.T, p *prediction) {
	t.Helper()
	args := append([]string{"--kubeconfig=" + l.plane.Kubeconfig(), "delete", "--wait=false", "--cascade=" + p.cascade}, p.target.words()...)
	if out, err := exec.CommandContext(t.Context(), l.kubectlProgram, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// agrees reports whether an object has ended as a list says.
func agrees(list string, was, is rules.State) bool {
	switch list {
	case "deleted":
		return !is.Exists
	case "kept":
		return is.Exists && !is.Deleting && len(is.Owners) == len(was.Owners)
	case "pruned", "orphaned":
		return is.Exists && !is.Deleting && len(is.Owners) < len(was.Owners)
	case "blocked", "waiting":
		return is.Exists && is.Deleting
	case "nonDeterministic":
		return true
	default:
		return was.Exists == is.Exists && was.Deleting == is.Deleting && len(was.Owners) == len(is.Owners)
	}
}

func refersTo(uid types.UID) func(metav1.OwnerReference) bool {
	return func(ref metav1.OwnerReference) bool { return ref.UID == uid }
}

func gone(err error) bool { return errors.Is(err, live.ErrGone) }
