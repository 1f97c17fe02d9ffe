package collector

import (
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"

	"labhub.io/teamspace/test/oracle/live"
	"labhub.io/teamspace/test/oracle/plane"
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

// scene returns a scene in a space that bears the name of its test.
func (l *lab) scene(t *testing.T, name string) *scene {
	t.Helper()
	prefix := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return &scene{T: t, lab: l, space: l.cluster.NewSpace(prefix), types: map[string]string{}}
}
