package collector

import (
	"testing"

	"k8s.io/client-go/kubernetes"

	"labhub.io/teamspace/test/oracle/live"
	"labhub.io/teamspace/test/oracle/plane"
	"labhub.io/teamspace/test/scene"
)

// lab is a control plane of the tests.
type lab struct {
	plane   *plane.Plane
	cluster *live.Cluster
	clients *kubernetes.Clientset
}

// newLab starts a control plane on which the collector knows the definitions from the
// start.
func newLab(t *testing.T, flags []string, definitions []live.Definition) *lab {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := plane.Start(t.Context(), flags...)
	must(err)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	l := &lab{plane: p}
	l.cluster, err = live.New(p.Config)
	must(err)
	l.clients, err = kubernetes.NewForConfig(p.Config)
	must(err)
	l.cluster.Register("v1", "Pod", pod)
	must(p.StopCollector(t.Context()))
	for _, d := range definitions {
		must(l.cluster.Define(t.Context(), d))
	}
	must(p.StartCollector(t.Context()))
	return l
}

// row is a scene of the lab.
type row struct {
	*scene.Scene
	lab *lab
}

// scene returns a scene that bears the name of its test.
func (l *lab) scene(t *testing.T, name string) *row {
	t.Helper()
	return &row{Scene: scene.New(t, l.cluster, name), lab: l}
}

// with returns the scene for another test.
func (s *row) with(t *testing.T) *row { return &row{Scene: s.With(t), lab: s.lab} }
