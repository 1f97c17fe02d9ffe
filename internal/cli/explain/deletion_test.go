package explain

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/teamspace/internal/cli/access"
	"labhub.io/teamspace/internal/cli/auditlog"
	"labhub.io/teamspace/internal/cli/document"
)

// logged is an audit event of a Widget, or of its definition, that many minutes after noon.
func logged(minute int, verb, resource, namespace, name, uri string) string {
	plural, group, _ := strings.Cut(resource, ".")
	return fmt.Sprintf(`{"kind":"Event","stage":"ResponseComplete","verb":%q,"requestURI":%q,"user":{"username":"jane"},"objectRef":{"resource":%q,"apiGroup":%q,"namespace":%q,"name":%q},"responseStatus":{"code":200},"stageTimestamp":%q}`+"\n",
		verb, uri, plural, group, namespace, name, noon.Add(time.Duration(minute)*time.Minute).Format(time.RFC3339))
}

const (
	widgets     = "widgets.acme.example"
	definitions = "customresourcedefinitions.apiextensions.k8s.io"
)

var lostWidget = access.Target{
	Type: access.Type{
		Resource: schema.GroupVersionResource{Group: "acme.example", Version: "v1", Resource: "widgets"},
		Kind:     schema.GroupVersionKind{Group: "acme.example", Version: "v1", Kind: "Widget"},
	},
	Namespace: "a", Name: "w",
}

// TestSearch: of what is gone, and of what is still there since noon.
func TestSearch(t *testing.T) {
	object := document.Object{Kind: "Widget", Namespace: "a", Name: "w"}
	for name, tc := range map[string]struct{ log, gone, marked string }{
		"deleted": {
			logged(1, "delete", widgets, "a", "w", ""),
			"Widget a/w was deleted at 2030-05-04T12:01:00Z by jane", "Widget a/w was marked as being deleted at 2030-05-04T12:01:00Z by jane",
		},
		"deleted before this one was made": {
			logged(-1, "delete", widgets, "a", "w", ""), "Widget a/w was deleted at 2030-05-04T11:59:00Z by jane", "",
		},
		"with all others": {
			logged(1, "deletecollection", widgets, "a", "", ""),
			"if Widget a/w was there then, it went at 2030-05-04T12:01:00Z with all others of its type there: jane deleted them",
			"Widget a/w was marked as being deleted at 2030-05-04T12:01:00Z by jane, with all others of its type there at once",
		},
		"with some others": {
			logged(1, "deletecollection", widgets, "a", "", "/apis/acme.example/v1/namespaces/a/widgets?labelSelector=x"),
			"if Widget a/w was there then and was chosen, it went at ", "",
		},
		"with its type": {
			logged(0, "create", widgets, "a", "w", "") + logged(1, "delete", definitions, "", widgets, ""),
			"its type, CustomResourceDefinition widgets.acme.example, was deleted at 2030-05-04T12:01:00Z by jane",
			"its type, CustomResourceDefinition widgets.acme.example, was deleted at 2030-05-04T12:01:00Z by jane",
		},
		"with its type, if it was there": {
			logged(1, "delete", definitions, "", widgets, ""),
			"if Widget a/w was there then, it went with its type\nits type, CustomResourceDefinition",
			"its type, CustomResourceDefinition widgets.acme.example, was deleted",
		},
		"nothing": {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(tc.log), 0o600); err != nil {
				t.Fatal(err)
			}
			log := auditlog.New([]string{path})
			gone, err := search(t.Context(), log, lostWidget, object)
			checkSentences(t, "gone", gone, err, tc.gone)
			marked, err := searchMark(t.Context(), log, lostWidget, object, noon)
			checkSentences(t, "marked", marked, err, tc.marked)
		})
	}
}

func checkSentences(t *testing.T, what string, found []Deletion, err error, want string) {
	t.Helper()
	got := ""
	if len(found) > 0 {
		got = strings.Join(found[0].Sentences, "\n")
	}
	if err != nil || len(found) > 1 || !strings.HasPrefix(got, want) || (want == "") != (got == "") {
		t.Errorf("%s: got %q (%v), want %q", what, got, err, want)
	}
}
