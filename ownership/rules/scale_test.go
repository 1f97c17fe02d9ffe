package rules_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

var scaleTypes = graph.NewTypes(
	graph.Type{APIVersion: "acme.example/v1", Kind: "Widget", Namespaced: true, Serving: graph.Served},
	graph.Type{APIVersion: "v1", Kind: "ConfigMap", Namespaced: true, Serving: graph.Served},
)

func widgetNamed(i int) graph.Object {
	return graph.Object{
		APIVersion: "acme.example/v1", Kind: "Widget", Namespace: fmt.Sprint("ns", i%100), Name: fmt.Sprint("w", i),
		UID: types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i)),
	}
}

func ownedBy(o graph.Object, block bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID, BlockOwnerDeletion: &block}
}

// cluster makes n objects as clusters have them: trees of owners, some with a
// second owner, some with one that is absent, some with finalizers.
func cluster(n int) []graph.Object {
	objects := make([]graph.Object, n)
	for i := range objects {
		o := widgetNamed(i)
		if root := i - i%1000; i != root {
			parent := widgetNamed(root + (i-root-1)/8)
			o.Namespace, parent.Namespace = fmt.Sprint("ns", root/1000%100), fmt.Sprint("ns", root/1000%100)
			o.Owners = append(o.Owners, ownedBy(parent, i%2 == 0))
		} else {
			o.Namespace = fmt.Sprint("ns", root/1000%100)
		}
		if i%50 == 49 {
			ghost := widgetNamed(n + i)
			o.Owners = append(o.Owners, ownedBy(ghost, true))
		}
		if i%97 == 0 {
			o.Finalizers = []string{"acme.example/hold"}
		}
		objects[i] = o
	}
	return objects
}

func buildAll(objects []graph.Object) *graph.Graph {
	b := graph.NewBuilder(scaleTypes)
	for _, o := range objects {
		if err := b.Add(o); err != nil {
			panic(err)
		}
	}
	return b.Graph()
}

// TestPredict_Cycle10000 and the shapes beside it end, and soon: neither the
// stack nor the time grows with the square of their size.
func TestPredict_Cycle10000(t *testing.T) {
	const n = 10_000
	for name, owner := range map[string]func(int) int{
		"cycle":                            func(i int) int { return (i + 1) % n },
		"chain":                            func(i int) int { return i - 1 },
		"star with a hub that owns itself": func(int) int { return 0 },
		"star":                             func(i int) int { return min(i, 1) - 1 },
	} {
		for _, policy := range []metav1.DeletionPropagation{
			metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
		} {
			t.Run(fmt.Sprint(name, " ", policy), func(t *testing.T) {
				start := time.Now()
				predictShape(t, n, owner, policy)
				if took := time.Since(start); took > 20*time.Second {
					t.Errorf("it took %s", took)
				}
			})
		}
	}
}

// predictShape predicts n objects of which each has one owner, by its number,
// or none if that is less than 0.
func predictShape(t *testing.T, n int, owner func(int) int, policy metav1.DeletionPropagation) {
	t.Helper()
	named := func(i int) graph.Object { o := widgetNamed(i); o.Namespace = "a"; return o }
	objects := make([]graph.Object, n)
	for i := range objects {
		objects[i] = named(i)
		if at := owner(i); at >= 0 {
			objects[i].Owners = append(objects[i].Owners, ownedBy(named(at), true))
		}
	}
	p := rules.Predict(buildAll(objects), rules.Restarted(), rules.Deleted(policy, 0))
	for id := range graph.ID(n) {
		if !p.Outcome(id).Allows(p.Likely(id)) {
			t.Fatalf("object %d ends against its outcome", id)
		}
	}
}

// BenchmarkPredict builds a graph and predicts a restart of the collector and
// the deletion of every hundredth tree. It reports time and memory by object;
// neither may grow with the number of objects.
func BenchmarkPredict(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		objects := cluster(n)
		var roots []graph.ID
		for i := 0; i < n; i += 100_000 {
			roots = append(roots, graph.ID(i))
		}
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			var before, after runtime.MemStats
			var built, predicted time.Duration
			var held uint64
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				start := time.Now()
				g := buildAll(objects)
				built += time.Since(start)
				start = time.Now()
				p := rules.Predict(g, rules.Restarted(), rules.Deleted(metav1.DeletePropagationForeground, roots...))
				predicted += time.Since(start)
				runtime.GC()
				runtime.ReadMemStats(&after)
				held += after.HeapAlloc - before.HeapAlloc
				if len(p.Effects()) == 0 {
					b.Fatal("nothing happens")
				}
				runtime.KeepAlive(g)
			}
			each := float64(n) * float64(b.N)
			b.ReportMetric(float64(built.Nanoseconds())/each, "build-ns/object")
			b.ReportMetric(float64(predicted.Nanoseconds())/each, "predict-ns/object")
			b.ReportMetric(float64(held)/each, "held-B/object")
			b.ReportMetric(0, "ns/op")
		})
	}
}
