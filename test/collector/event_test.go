package collector

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const invalidNamespace = "OwnerRefInvalidNamespace"

// foreignOwner is row R13 with the Event, and D10: it names the dependent's namespace,
// never the owner's. Written for a namespaced dependent, which is deleted, and for a
// cluster-scoped one, which is kept.
func foreignOwner(s *row) {
	s.Plays(`
		Widget b/owner
		ConfigMap a/child -> Widget owner =Widget/b/owner
		ClusterWidget child -> Widget owner =Widget/b/owner
	`, `
		Widget b/owner
		ClusterWidget child -> Widget owner =Widget/b/owner
	`)
	s.reported("ConfigMap/a/child", s.Space.RealName("a"), "a", 1)
	s.reported("ClusterWidget/child", metav1.NamespaceDefault, "", 1)
}

func foreignOwnerAgain(s *row) {
	s.Plays("restart", `
		Widget b/owner
		ClusterWidget child -> Widget owner =Widget/b/owner
	`)
	s.reported("ClusterWidget/child", metav1.NamespaceDefault, "", 2)
}

// reported waits for the Event on a dependent, in the namespace, for the given time.
func (s *row) reported(dependent types.UID, in, named string, times int32) {
	s.Helper()
	namespace := ""
	if named != "" {
		namespace = s.Space.RealName(named)
	}
	want := fmt.Sprintf("ownerRef [acme.example/v1/Widget, namespace: %s, name: %s, uid: %s] does not exist in namespace %q",
		namespace, s.Space.RealName("owner"), s.Space.RealUID("Widget/b/owner"), namespace)
	s.Eventually("the Event on "+string(dependent), func() error {
		var count int32
		for _, e := range s.eventsOn(dependent) {
			if e.Namespace != in || e.Type != corev1.EventTypeWarning || e.Message != want {
				return fmt.Errorf("in %s: %s %s", e.Namespace, e.Type, e.Message)
			}
			count += e.Count // a new collector may begin a new object
		}
		if count != times {
			return fmt.Errorf("it is there %d times", count)
		}
		return nil
	})
}

func (s *row) eventsOn(dependent types.UID) []corev1.Event {
	s.Helper()
	list, err := s.lab.clients.CoreV1().Events("").List(s.Context(), metav1.ListOptions{
		FieldSelector: "reason=" + invalidNamespace + ",involvedObject.uid=" + string(s.Space.RealUID(dependent)),
	})
	if err != nil {
		s.Fatal(err)
	}
	return list.Items
}

// foreignUnobserved: of an owner whose type it does not observe the collector cannot
// know that it lives elsewhere. The child is absent's child, and goes without a word.
func foreignUnobserved(s *row) {
	s.Plays(`
		Event b/owner
		ConfigMap a/child -> Event owner =Event/b/owner
		ConfigMap b/good -> Event owner
	`, `
		Event b/owner
		ConfigMap b/good -> Event owner
	`)
	if events := s.eventsOn("ConfigMap/a/child"); len(events) > 0 {
		var words []string
		for _, e := range events {
			words = append(words, e.Message)
		}
		s.Errorf("there is an Event: %s", strings.Join(words, "\n"))
	}
}
