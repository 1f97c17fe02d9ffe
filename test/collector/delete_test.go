package collector

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/test/oracle/live"
)

func uid(text string) types.UID { return types.UID(text) }

// secondDelete is row F11: a second DELETE in the background takes the collector's
// finalizers off, wherever they come from, and what has no others is gone at once.
func secondDelete(s *row) {
	const before = `
		Widget a/f
		Widget a/h [acme.example/hold]
		Widget a/o [acme.example/hold]
		ConfigMap a/f [acme.example/hold] -> Widget f +b
		ConfigMap a/h [acme.example/hold] -> Widget h +b
		ConfigMap a/o -> Widget o
	`
	s.Plays(before, before)
	s.Plays(`
		delete foreground Widget a/f
		delete foreground Widget a/h
	`, `
		Widget a/f dying [fg]
		Widget a/h dying [acme.example/hold fg]
		Widget a/o [acme.example/hold]
		ConfigMap a/f dying [acme.example/hold] -> Widget f +b
		ConfigMap a/h dying [acme.example/hold] -> Widget h +b
		ConfigMap a/o -> Widget o
	`)
	s.Plays(`
		delete background Widget a/f
		delete background Widget a/h
		delete background Widget a/o
	`, `
		Widget a/h dying [acme.example/hold]
		Widget a/o dying [acme.example/hold]
		ConfigMap a/f dying [acme.example/hold] -> Widget f +b
		ConfigMap a/h dying [acme.example/hold] -> Widget h +b
		ConfigMap a/o -> Widget o
	`)
	// The other way round a DELETE still adds what an update must not (F10).
	s.Plays(`
		delete foreground Widget a/h
		delete orphan Widget a/o
	`, `
		Widget a/h dying [acme.example/hold fg]
		Widget a/o dying [acme.example/hold]
		ConfigMap a/f dying [acme.example/hold] -> Widget f +b
		ConfigMap a/h dying [acme.example/hold] -> Widget h +b
		ConfigMap a/o
	`)
}

// pod is a Pod that is bound to a node, so that its grace counts.
var pod = live.Kind{
	Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Namespaced: true,
	Body: func() map[string]any {
		return map[string]any{"spec": map[string]any{
			"nodeName": "nowhere", "terminationGracePeriodSeconds": int64(600),
			"containers": []any{map[string]any{"name": "none", "image": "none"}},
		}}
	},
}

// secondDeletePod: a Pod on a node, with grace left, ignores the second DELETE.
func secondDeletePod(s *row) {
	s.Plays(`
		Pod a/pod
		ConfigMap a/child [acme.example/hold] -> Pod pod +b
		delete foreground Pod a/pod
	`, `
		Pod a/pod dying [fg]
		ConfigMap a/child dying [acme.example/hold] -> Pod pod +b
	`)
	s.Request("delete background Pod a/pod")
	s.Becomes(`
		Pod a/pod dying [fg]
		ConfigMap a/child dying [acme.example/hold] -> Pod pod +b
	`)
}

// secondDeleteNamespace: so does a Namespace, until what is in it is gone.
func secondDeleteNamespace(s *row) {
	s.Plays(`
		Namespace n
		ConfigMap n/inside [acme.example/hold]
		ClusterWidget child [acme.example/hold] -> Namespace n +b
		delete foreground Namespace n
	`, `
		Namespace n dying [fg]
		ConfigMap n/inside dying [acme.example/hold]
		ClusterWidget child dying [acme.example/hold] -> Namespace n +b
	`)
	s.Request("delete background Namespace n")
	s.Becomes(`
		Namespace n dying [fg]
		ConfigMap n/inside dying [acme.example/hold]
		ClusterWidget child dying [acme.example/hold] -> Namespace n +b
	`)
	s.Release("ConfigMap/n/inside")
	s.Becomes(`
		Namespace n dying [fg]
		ClusterWidget child dying [acme.example/hold] -> Namespace n +b
	`)
	s.Release("ClusterWidget/child")
	s.Becomes("")
}
