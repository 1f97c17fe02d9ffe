package inventory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// typeSource is a discovery whose answer can change.
type typeSource struct {
	discovery.DiscoveryInterfaceWithContext

	groups []*metav1.APIGroup
	lists  []*metav1.APIResourceList
	err    error
	asked  int
}

func (s *typeSource) ServerGroupsAndResourcesWithContext(context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	s.asked++
	return s.groups, s.lists, s.err
}

var verbs = metav1.Verbs{"get", "list", "watch", "delete"}

func resources(groupVersion string, list ...metav1.APIResource) *metav1.APIResourceList {
	return &metav1.APIResourceList{GroupVersion: groupVersion, APIResources: list}
}

func widgets() *metav1.APIResourceList {
	return resources("acme.example/v1",
		metav1.APIResource{Name: "widgets", Kind: "Widget", Namespaced: true, Verbs: verbs},
		metav1.APIResource{Name: "widgets/status", Kind: "Widget", Namespaced: true, Verbs: verbs},
		metav1.APIResource{Name: "clusterwidgets", Kind: "ClusterWidget", Verbs: verbs},
		metav1.APIResource{Name: "onlygets", Kind: "OnlyGet", Namespaced: true, Verbs: metav1.Verbs{"get"}},
		metav1.APIResource{Name: "writeonlys", Kind: "WriteOnly", Namespaced: true, Verbs: metav1.Verbs{"create"}},
	)
}

type lab struct {
	types   *typeSource
	clock   *clocktesting.FakeClock
	objects *metadatafake.FakeMetadataClient
	reader  *Reader
}

func newLab(t *testing.T, objects ...runtime.Object) *lab {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	l := &lab{
		types: &typeSource{lists: []*metav1.APIResourceList{widgets()}}, clock: clocktesting.NewFakeClock(began),
		objects: metadatafake.NewSimpleMetadataClient(scheme, objects...),
	}
	catalog := NewCatalog(l.types)
	catalog.clock = l.clock
	l.reader = NewReader(catalog, metadata.Interface(l.objects))
	l.reader.clock = l.clock
	return l
}

// owner looks some time after the look before.
func (l *lab) owner(t *testing.T, namespace, kind, name string) Owner {
	t.Helper()
	l.clock.Step(time.Second)
	return l.reader.GetOwner(t.Context(), l.reader.Now(), namespace, metav1.OwnerReference{APIVersion: "acme.example/v1", Kind: kind, Name: name})
}

func object(kind, namespace, name string) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid"}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "acme.example", Version: "v1", Kind: kind})
	return o
}

func TestReader_Owner(t *testing.T) {
	l := newLab(t, object("Widget", "a", "w"), object("ClusterWidget", "", "cw"))
	for name, tc := range map[string]struct {
		namespace, kind, object string
		answer                  rules.Answer
		resource                string
		where                   string
	}{
		"there":                         {"a", "Widget", "w", rules.Found, "widgets", "a"},
		"in lower case":                 {"a", "widget", "w", rules.Found, "widgets", "a"},
		"not in this namespace":         {"b", "Widget", "w", rules.NotFound, "widgets", "b"},
		"cluster-scoped":                {"a", "ClusterWidget", "cw", rules.Found, "clusterwidgets", ""},
		"cluster-scoped, of the same":   {"", "ClusterWidget", "cw", rules.Found, "clusterwidgets", ""},
		"a list":                        {"a", "WidgetList", "w", rules.NotFound, "", "a"},
		"a type that cannot be watched": {"a", "OnlyGet", "x", rules.NotFound, "onlygets", "a"},
		"a type without a GET":          {"a", "WriteOnly", "x", rules.NotFound, "writeonlys", "a"},
		"a kind that nobody has":        {"a", "Gadget", "x", rules.Failed, "", ""},
		"a path for a name":             {"a", "Widget", "../../b/widgets/w", rules.NotFound, "", "a"},
		"a part of a path for a name":   {"a", "Widget", "..", rules.NotFound, "", "a"},
		"an encoded path for a name":    {"a", "Widget", "%2e%2e", rules.NotFound, "", "a"},
		"bad scope: nowhere to look":    {"", "Widget", "w", rules.Failed, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := l.owner(t, tc.namespace, tc.kind, tc.object)
			if got.Facts.Answer != tc.answer || got.Resource.Resource != tc.resource || got.Namespace != tc.where {
				t.Errorf("got %+v", got)
			}
			if (got.Found != nil) != (tc.answer == rules.Found) {
				t.Errorf("found %v", got.Found)
			}
		})
	}
}

// TestReader_AsksOnceForWhatIsThere: the types are read once, not for each owner.
func TestReader_AsksOnceForWhatIsThere(t *testing.T) {
	l := newLab(t, object("Widget", "a", "w"))
	for range 10 {
		l.owner(t, "a", "Widget", "w")
	}
	if l.types.asked != 1 {
		t.Errorf("asked %d times", l.types.asked)
	}
}

// TestReader_NothingIsHeldAgainstAReferenceByACache: each of these would be judged wrong
// by the types that were read first, and is right by those that are served now.
func TestReader_NothingIsHeldAgainstAReferenceByACache(t *testing.T) {
	gadgets := resources("acme.example/v1", metav1.APIResource{Name: "gadgets", Kind: "Gadget", Namespaced: true, Verbs: verbs})
	cluster := resources("acme.example/v1", metav1.APIResource{Name: "widgets", Kind: "Widget", Verbs: verbs})
	for name, tc := range map[string]struct {
		namespace, kind string
		now             *metav1.APIResourceList
		object          *metav1.PartialObjectMetadata
	}{
		"a type that is new":                            {"a", "Gadget", gadgets, object("Gadget", "a", "x")},
		"a type that is cluster-scoped now":             {"", "Widget", cluster, object("Widget", "", "x")},
		"the same, of an object in a namespace":         {"a", "Widget", cluster, object("Widget", "", "x")},
		"a list that turned out to be a kind by itself": {"a", "WidgetList", resources("acme.example/v1", metav1.APIResource{Name: "widgetlists", Kind: "WidgetList", Namespaced: true, Verbs: verbs}), object("WidgetList", "a", "x")},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, tc.object)
			l.owner(t, "a", "OnlyGet", "x")
			l.types.lists = []*metav1.APIResourceList{tc.now}
			if got := l.owner(t, tc.namespace, tc.kind, "x"); got.Facts.Answer != rules.Found {
				t.Errorf("got %+v", got.Facts)
			}
		})
	}
}

// TestReader_Vanished is row D1: the collector may use a mapping for half a minute after
// the type has gone.
func TestReader_Vanished(t *testing.T) {
	l := newLab(t, object("Widget", "a", "w"))
	l.owner(t, "a", "Widget", "w")
	l.types.lists = nil
	l.objects.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(schema.GroupResource{}, "w")
	})
	if got := l.owner(t, "a", "Widget", "w").Facts.Mapping.Type.Serving; got != graph.VanishedRecently {
		t.Errorf("at once: %s", got)
	}
	l.clock.Step(mapperReset)
	if got := l.owner(t, "a", "Widget", "w").Facts.Mapping.Type.Serving; got != graph.VanishedEarlier {
		t.Errorf("later: %s", got)
	}
	l.types.lists = []*metav1.APIResourceList{widgets()}
	if got := l.owner(t, "a", "Widget", "w").Facts.Mapping.Type.Serving; got != graph.Served {
		t.Errorf("back again: %s", got)
	}
}

// TestReader_Failures: what could not be read is unknown, never absent.
func TestReader_Failures(t *testing.T) {
	l := newLab(t)
	l.types.err = errors.New("boom")
	got := l.owner(t, "a", "Widget", "w")
	if c := rules.Classify("a", metav1.OwnerReference{UID: "uid"}, got.Facts); c.Class != rules.Unknown {
		t.Errorf("without discovery: %s", c.Class)
	}
	l.types.err = nil
	l.objects.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{}, "w", nil)
	})
	got = l.owner(t, "a", "Widget", "w")
	if c := rules.Classify("a", metav1.OwnerReference{UID: "uid"}, got.Facts); c.Class != rules.Unknown || got.Found != nil || !apierrors.IsForbidden(got.Err) {
		t.Errorf("without permission: %s", c.Class)
	}
}

// TestReader_ReadsTypesOnce: one request reads the types once at most, whatever it names.
func TestReader_ReadsTypesOnce(t *testing.T) {
	l := newLab(t)
	l.owner(t, "a", "Widget", "w")
	l.clock.Step(time.Second)
	began, asked := l.reader.Now(), l.types.asked
	var requests sync.WaitGroup
	for i := range 500 {
		requests.Go(func() {
			ref := metav1.OwnerReference{APIVersion: fmt.Sprintf("g%d.example/v1", i), Kind: "Thing", Name: "x"}
			if got := l.reader.GetOwner(t.Context(), began, "a", ref); got.Facts.Mapping.Resolves() {
				t.Errorf("%s resolves", ref.APIVersion)
			}
		})
	}
	requests.Wait()
	if again := l.types.asked - asked; again != 1 {
		t.Errorf("asked %d times", again)
	}
}

// TestCatalog_Silent: what a server that does not answer serves is not known: it has not
// vanished, and nothing else is suggested for it (P12).
func TestCatalog_Silent(t *testing.T) {
	l := newLab(t)
	l.types.lists = append(l.types.lists, resources("acme.example/v2", metav1.APIResource{Name: "gadgets", Kind: "Gadget", Namespaced: true, Verbs: verbs}))
	ref := metav1.OwnerReference{APIVersion: "acme.example/v1", Kind: "Widget", Name: "w"}
	l.reader.GetOwner(t.Context(), l.reader.Now(), "a", ref)
	l.clock.Step(time.Second)
	l.types.lists = l.types.lists[1:]
	l.types.lists[0].APIResources = append(l.types.lists[0].APIResources, metav1.APIResource{Name: "widgets", Kind: "Widget", Namespaced: true, Verbs: verbs})
	l.types.err = &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{{Group: "acme.example", Version: "v1"}: errors.New("boom")}}
	got := l.reader.GetOwner(t.Context(), l.reader.Now(), "a", ref)
	if got.Facts.Mapping.Type.Serving != graph.NotServed || len(got.Suggest) > 0 {
		t.Errorf("got %+v, suggested %v", got.Facts.Mapping, got.Suggest)
	}
}

// TestCatalog_FailedGroup: the kinds of a group whose server is away do not resolve, and
// the others do.
func TestCatalog_FailedGroup(t *testing.T) {
	l := newLab(t, object("Widget", "a", "w"))
	l.types.err = &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{{Group: "down.example", Version: "v1"}: errors.New("boom")}}
	l.types.lists = append(l.types.lists, resources("a/b/c"))
	if got := l.owner(t, "a", "Widget", "w"); got.Facts.Answer != rules.Found {
		t.Errorf("got %+v", got.Facts)
	}
}
