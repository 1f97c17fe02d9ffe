package inventory

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// pages is an API server that only has lists, and what goes wrong with them.
type pages struct {
	t *testing.T

	mu       sync.Mutex
	requests []string
	// answer says what the next request of a path, with its query, gets.
	answer func(path, token string) answered
}

// answered is a page with the names of its objects, or an error.
type answered struct {
	names string // "a b"
	next  string
	err   *apierrors.StatusError
	cut   bool
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get("continue")
	p.mu.Lock()
	p.requests = append(p.requests, strings.TrimSpace(r.URL.Path+" "+token))
	a := p.answer(r.URL.Path, token)
	p.mu.Unlock()
	if a.err != nil {
		status := a.err.Status()
		status.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("Status"))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Code))
		if err := json.NewEncoder(w).Encode(status); err != nil {
			p.t.Error(err)
		}
		return
	}
	list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{Continue: a.next}}
	for name := range strings.FieldsSeq(a.names) {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "ns", UID: types.UID(r.URL.Path + name),
		}})
	}
	page := encode(p.t, list)
	if a.cut {
		page = page[:len(page)-6]
	}
	_, _ = w.Write(page) // the client may have gone
}

// survey surveys widgets and gadgets.
func (p *pages) survey(t *testing.T, options Options, source *typeSource) *Survey {
	t.Helper()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	surveyor, err := NewSurveyor(NewCatalog(source), &rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	survey, err := surveyor.Survey(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return survey
}

func onlyWidgets() *typeSource {
	return &typeSource{lists: []*metav1.APIResourceList{resources("acme.example/v1",
		metav1.APIResource{Name: "widgets", Kind: "Widget", Namespaced: true, Verbs: verbs},
	)}}
}

func names(s *Survey) []string {
	var all []string
	for id := range graph.ID(s.Graph.Len()) {
		all = append(all, s.Graph.Name(id))
	}
	slices.Sort(all)
	return all
}

// TestSurvey_Pages: whatever happens to a page, no object is lost and none comes twice; a
// list that cannot be read to its end is incomplete.
func TestSurvey_Pages(t *testing.T) {
	expired := func(token string) answered {
		err := apierrors.NewResourceExpired("The provided continue parameter is too old")
		err.ErrStatus.Continue = token
		return answered{err: err}
	}
	tries := map[string]int{}
	for name, tc := range map[string]struct {
		answer func(token string) answered
		want   string
		reason string
	}{
		"one page": {func(string) answered { return answered{names: "a b"} }, "a b", ""},
		"pages": {func(token string) answered {
			return map[string]answered{"": {names: "a", next: "2"}, "2": {names: "b", next: "3"}, "3": {names: "c"}}[token]
		}, "a b c", ""},
		"a token that expires, and goes on": {func(token string) answered {
			return map[string]answered{"": {names: "a", next: "2"}, "2": expired("2b"), "2b": {names: "b"}}[token]
		}, "a b", ""},
		"a token that expires, and begins anew": {func(token string) answered {
			if tries["anew"]++; tries["anew"] < 3 {
				return map[string]answered{"": {names: "a", next: "2"}, "2": expired("")}[token]
			}
			return answered{names: "a b"}
		}, "a b", ""},
		"tokens that expire for ever": {func(token string) answered {
			if token == "" {
				return answered{names: "a", next: "2"}
			}
			return expired("2")
		}, "a", "too old"},
		"a page that is cut off": {func(token string) answered {
			if tries["cut"]++; tries["cut"] == 1 {
				return answered{names: "a b", cut: true}
			}
			return answered{names: "a b"}
		}, "a b", ""},
		"a page that is always cut off": {func(string) answered { return answered{names: "a b", cut: true} }, "a", "unexpected EOF"},
		"a second page that fails": {func(token string) answered {
			if token == "" {
				return answered{names: "a", next: "2"}
			}
			return answered{err: apierrors.NewInternalError(fmt.Errorf("boom"))}
		}, "a", "boom"},
		"a permission that lacks": {func(string) answered {
			return answered{err: apierrors.NewForbidden(schema.GroupResource{Resource: "widgets"}, "", nil)}
		}, "", "forbidden"},
		"a list that is not found": {func(string) answered {
			return answered{err: apierrors.NewNotFound(schema.GroupResource{Resource: "widgets"}, "")}
		}, "", "does not find its list"},
	} {
		t.Run(name, func(t *testing.T) {
			server := &pages{t: t, answer: func(_, token string) answered { return tc.answer(token) }}
			got := server.survey(t, Options{}, onlyWidgets())
			if diff := cmp.Diff(strings.Fields(tc.want), names(got), equalEmpty); diff != "" {
				t.Error(diff)
			}
			switch {
			case tc.reason == "" && len(got.Incomplete) > 0:
				t.Errorf("incomplete: %+v", got.Incomplete)
			case tc.reason != "" && (len(got.Incomplete) != 1 || got.Incomplete[0].Resource != "widgets.acme.example" ||
				!strings.Contains(got.Incomplete[0].Reason, tc.reason)):
				t.Errorf("incomplete: %+v, want one that says %q", got.Incomplete, tc.reason)
			}
			mapping := got.Graph.Types().Resolve("acme.example/v1", "Widget")
			if mapping.Type.Unreadable != (tc.reason != "") {
				t.Errorf("unreadable: %v", mapping.Type.Unreadable)
			}
		})
	}
}

// TestSurvey_Vanished: a type that went between discovery and its list is no gap.
func TestSurvey_Vanished(t *testing.T) {
	source := onlyWidgets()
	server := &pages{t: t, answer: func(string, string) answered {
		source.lists = nil
		return answered{err: apierrors.NewNotFound(schema.GroupResource{Resource: "widgets"}, "")}
	}}
	got := server.survey(t, Options{}, source)
	if len(got.Incomplete) > 0 {
		t.Errorf("incomplete: %+v", got.Incomplete)
	}
	if serving := got.Graph.Types().Resolve("acme.example/v1", "Widget").Type.Serving; serving != graph.VanishedRecently {
		t.Errorf("it is %s", serving)
	}
}

// TestSurvey_Namespace: where the cluster is not permitted the namespace is read, and what
// lies outside of it is a lesser gap.
func TestSurvey_Namespace(t *testing.T) {
	source := &typeSource{lists: []*metav1.APIResourceList{widgets()}}
	server := &pages{t: t, answer: func(path, _ string) answered {
		if path == "/apis/acme.example/v1/namespaces/ns/widgets" {
			return answered{names: "inside"}
		}
		return answered{err: apierrors.NewForbidden(schema.GroupResource{}, "", nil)}
	}}
	got := server.survey(t, Options{Namespace: "ns"}, source)
	if diff := cmp.Diff([]string{"inside"}, names(got)); diff != "" {
		t.Error(diff)
	}
	for _, incomplete := range got.Incomplete {
		if !incomplete.Elsewhere {
			t.Errorf("%+v counts as inside", incomplete)
		}
	}
	for kind, unreadable := range map[string]bool{"Widget": false, "ClusterWidget": true, "OnlyGet": true} {
		if got := got.Graph.Types().Resolve("acme.example/v1", kind).Type.Unreadable; got != unreadable {
			t.Errorf("%s unreadable: %v", kind, got)
		}
	}
}

// TestSurvey_Silent: a server that does not answer is a gap of its own.
func TestSurvey_Silent(t *testing.T) {
	source := onlyWidgets()
	gv := schema.GroupVersion{Group: "metrics.k8s.io", Version: "v1beta1"}
	source.err = &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{gv: discovery.StaleGroupVersionError{}}}
	server := &pages{t: t, answer: func(string, string) answered { return answered{names: "a"} }}
	got := server.survey(t, Options{}, source)
	if len(got.Incomplete) != 1 || got.Incomplete[0].Resource != "v1beta1.metrics.k8s.io" {
		t.Errorf("incomplete: %+v", got.Incomplete)
	}
}

// TestSurvey_Versions: each resource is read once, in the version that its group prefers
// among those that have it; events only where they are asked for.
func TestSurvey_Versions(t *testing.T) {
	source := &typeSource{
		groups: []*metav1.APIGroup{{
			Name:             "acme.example",
			Versions:         []metav1.GroupVersionForDiscovery{{GroupVersion: "acme.example/v1beta1"}, {GroupVersion: "acme.example/v1"}},
			PreferredVersion: metav1.GroupVersionForDiscovery{GroupVersion: "acme.example/v1"},
		}},
		lists: []*metav1.APIResourceList{
			resources("acme.example/v1beta1",
				metav1.APIResource{Name: "widgets", Kind: "Widget", Namespaced: true, Verbs: verbs},
				metav1.APIResource{Name: "gadgets", Kind: "Gadget", Namespaced: true, Verbs: verbs}),
			widgets(),
			resources("v1", metav1.APIResource{Name: "events", Kind: "Event", Namespaced: true, Verbs: verbs}),
		},
	}
	for _, events := range []bool{false, true} {
		server := &pages{t: t, answer: func(string, string) answered { return answered{} }}
		got := server.survey(t, Options{Events: events}, source)
		want := []string{"/apis/acme.example/v1/clusterwidgets", "/apis/acme.example/v1/widgets", "/apis/acme.example/v1beta1/gadgets"}
		if events {
			want = append([]string{"/api/v1/events"}, want...)
		}
		slices.Sort(server.requests)
		if diff := cmp.Diff(want, server.requests); diff != "" {
			t.Error(diff)
		}
		for kind, unmonitored := range map[string]bool{"Widget": false, "Gadget": false, "OnlyGet": true} {
			for _, version := range []string{"v1", "v1beta1"} {
				mapping := got.Graph.Types().Resolve("acme.example/"+version, kind)
				if mapping.Resolves() && mapping.Type.Unmonitored != unmonitored {
					t.Errorf("%s %s unmonitored: %v", version, kind, mapping.Type.Unmonitored)
				}
			}
		}
	}
}

// TestSurvey_Canceled: a survey that was interrupted is no survey.
func TestSurvey_Canceled(t *testing.T) {
	server := httptest.NewServer(&pages{t: t, answer: func(string, string) answered { return answered{} }})
	t.Cleanup(server.Close)
	surveyor, err := NewSurveyor(NewCatalog(onlyWidgets()), &rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := surveyor.Survey(ctx, Options{}); err == nil {
		t.Error("it returned a survey")
	}
}

// TestSurvey_UnreadOwner: the owner of a type that could not be read is unknown, not absent.
func TestSurvey_UnreadOwner(t *testing.T) {
	types := graph.NewTypes(graph.Type{APIVersion: "acme.example/v1", Kind: "Widget", Namespaced: true, Serving: graph.Served})
	b := graph.NewBuilder(types)
	ref := metav1.OwnerReference{APIVersion: "acme.example/v1", Kind: "Widget", Name: "w", UID: "w"}
	if err := b.Add(graph.Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: "a", Name: "c", UID: "c", Owners: []metav1.OwnerReference{ref}}); err != nil {
		t.Fatal(err)
	}
	r := &reading{builder: b, complete: map[schema.GroupKind]bool{}}
	survey := r.finish(Snapshot{Types: types})
	if c, _ := rules.Predict(survey.Graph).Classification(0); c.Class != rules.Unknown {
		t.Errorf("it is %s", c.Class)
	}
}
