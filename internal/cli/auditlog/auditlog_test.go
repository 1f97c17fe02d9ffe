package auditlog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	admin = "jane"
	gc    = "system:serviceaccount:kube-system:generic-garbage-collector"
	nsc   = "system:serviceaccount:kube-system:namespace-controller"
)

// at is a time so many seconds after noon.
func at(second int) time.Time { return time.Date(2030, time.May, 4, 12, 0, second, 0, time.UTC) }

// line is an audit event: WHEN VERB RESOURCE[.GROUP] NAMESPACE/NAME USER CODE, and what else
// it holds.
func line(second int, verb, resource, name, user string, code int, more string) string {
	plural, group, _ := strings.Cut(resource, ".")
	namespace, bare, namespaced := strings.Cut(name, "/")
	if !namespaced {
		namespace, bare = "", name
	}
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"kind":"Event","stage":"ResponseComplete","verb":%q,"user":{"username":%q},"objectRef":{"resource":%q,"apiGroup":%q,"namespace":%q,"name":%q},"responseStatus":{"code":%d},"stageTimestamp":%q%s}`+"\n",
		verb, user, plural, group, namespace, bare, code, at(second).Format(time.RFC3339Nano), more)
}

// with is the metadata of an object in an answer.
func with(name, uid, owners string) string {
	return fmt.Sprintf(`"responseObject":{"kind":"Any","metadata":{"name":%q,"uid":%q,"ownerReferences":[%s]}}`, name, uid, owners)
}

// ref is a reference to a Widget.
func ref(name, uid string) string {
	return fmt.Sprintf(`{"apiVersion":"acme.example/v1","kind":"Widget","name":%q,"uid":%q}`, name, uid)
}

func logOf(t *testing.T, files ...string) *Log {
	t.Helper()
	var paths []string
	for i, text := range files {
		path := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return New(paths)
}

var configMap = Subject{Resource: "configmaps", Kind: "ConfigMap", Namespace: "a", Name: "c"}

// story is how the collector came to delete ConfigMap a/c: its owner was made anew.
func story() string {
	return line(1, "create", "widgets.acme.example", "a/w", admin, 201, with("w", "u1", "")) +
		line(2, "create", "configmaps", "a/c", "ci", 201, with("c", "uc", "")) +
		line(3, "patch", "configmaps", "a/c", "operator", 200, with("c", "uc", ref("w", "u1"))) +
		line(4, "update", "configmaps", "a/c", "kubectl", 200, with("c", "uc", ref("w", "u1"))) +
		line(5, "delete", "widgets.acme.example", "a/w", admin, 200, `"requestObject":{"kind":"DeleteOptions","propagationPolicy":"Background"}`) +
		line(6, "create", "widgets.acme.example", "a/w", admin, 201, with("w", "u2", "")) +
		line(7, "get", "configmaps", "a/c", gc, 200, "") +
		line(7, "get", "widgets.acme.example", "a/w", gc, 200, with("w", "u2", "")) +
		line(8, "delete", "configmaps", "a/c", gc, 200, "")
}

func TestDeletions_ByTheCollector(t *testing.T) {
	found, err := logOf(t, story()).Deletions(t.Context(), configMap)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d deletions, %v", len(found), err)
	}
	d := found[0]
	if !d.Collector || d.User != gc || !d.Time.Equal(at(8)) || !d.Known || len(d.References) != 1 {
		t.Fatalf("the deletion is %+v", d)
	}
	r := d.References[0]
	if r.UID != "u1" || r.Written == nil || r.Written.User != "operator" || !r.Written.Time.Equal(at(3)) {
		t.Errorf("the reference is %+v, written by %+v", r.OwnerReference, r.Written)
	}
	if r.Look == nil || r.Look.Code != 200 || r.Look.UID != "u2" {
		t.Errorf("the look is %+v", r.Look)
	}
	if r.Deleted == nil || r.Deleted.User != admin || r.Deleted.Policy != metav1.DeletePropagationBackground {
		t.Errorf("the owner's deletion is %+v", r.Deleted)
	}
}

func TestDeletions(t *testing.T) {
	refused := line(8, "delete", "configmaps", "a/c", admin, 403, "")
	deleted := line(8, "delete", "configmaps", "a/c", admin, 200, "")
	made := line(2, "create", "configmaps", "a/c", admin, 201, "")
	listed := func(name string) string {
		return fmt.Sprintf(`"responseObject":{"kind":"ConfigMapList","items":[{"metadata":{"namespace":"b","name":"c"}},{"metadata":{"namespace":"a","name":%q}}]}`, name)
	}
	for name, tc := range map[string]struct {
		log  string
		want string // user@second, with what else is of interest
	}{
		"nothing":                             {"", ""},
		"a person":                            {deleted, "jane@8"},
		"a request that was refused":          {refused, ""},
		"another object of that name":         {line(8, "delete", "secrets", "a/c", admin, 200, ""), ""},
		"another namespace":                   {line(8, "delete", "configmaps", "b/c", admin, 200, ""), ""},
		"another group":                       {line(8, "delete", "configmaps.acme.example", "a/c", admin, 200, ""), ""},
		"a second DELETE is none":             {deleted + line(9, "delete", "configmaps", "a/c", gc, 200, ""), "jane@8"},
		"made again and deleted again":        {deleted + line(9, "create", "configmaps", "a/c", admin, 201, "") + line(10, "delete", "configmaps", "a/c", "joe", 200, ""), "jane@8 joe@10"},
		"all of a namespace":                  {line(8, "deletecollection", "configmaps", "a/", admin, 200, ""), "jane@8 presumed"},
		"all of a namespace, twice":           {line(8, "deletecollection", "configmaps", "a/", admin, 200, "") + line(9, "deletecollection", "configmaps", "a/", admin, 200, ""), "jane@8 presumed"},
		"all, and then it":                    {line(8, "deletecollection", "configmaps", "a/", admin, 200, "") + line(9, "delete", "configmaps", "a/c", "joe", 200, ""), "jane@8 presumed joe@9"},
		"all, and it was made before":         {made + line(8, "deletecollection", "configmaps", "a/", admin, 200, ""), "jane@8"},
		"all, and it was seen before":         {line(2, "get", "configmaps", "a/c", admin, 200, "") + line(8, "deletecollection", "configmaps", "a/", admin, 200, ""), "jane@8"},
		"all, and it was looked for in vain":  {line(2, "get", "configmaps", "a/c", admin, 404, "") + line(8, "deletecollection", "configmaps", "a/", admin, 200, ""), "jane@8 presumed"},
		"all, after it went":                  {made + line(7, "delete", "configmaps", "a/c", "joe", 200, "") + line(8, "deletecollection", "configmaps", "a/", admin, 200, ""), "joe@7"},
		"all, and the answer names it":        {line(8, "deletecollection", "configmaps", "a/", admin, 200, listed("c")), "jane@8"},
		"all, and the answer does not":        {made + line(8, "deletecollection", "configmaps", "a/", admin, 200, listed("d")), ""},
		"some, and it was made before":        {made + line(8, "deletecollection", "configmaps", "a/", admin, 200, `"requestURI":"/api/v1/namespaces/a/configmaps?labelSelector=x%3Dy"`), "jane@8 presumed selective"},
		"all, and the server named it":        {line(2, "create", "configmaps", "a/", admin, 201, with("c", "uc", "")) + line(8, "deletecollection", "configmaps", "a/", admin, 200, ""), "jane@8"},
		"all of another namespace":            {line(8, "deletecollection", "configmaps", "b/", admin, 200, ""), ""},
		"all of another type":                 {line(8, "deletecollection", "secrets", "a/", admin, 200, ""), ""},
		"somebody in another's name":          {line(8, "delete", "configmaps", "a/c", admin, 200, `"impersonatedUser":{"username":"root"}`), "root, impersonated by jane@8"},
		"a line that is being written":        {deleted + deleted[:40], "jane@8"},
		"a line longer than the buffer":       {line(7, "update", "configmaps", "a/c", admin, 200, `"requestObject":{"data":"`+strings.Repeat("x", 3*buffer)+`"}`) + deleted, "jane@8"},
		"the collector without an own user":   {line(8, "delete", "configmaps", "a/c", "system:kube-controller-manager", 200, `"userAgent":"kube-controller-manager/v1 system:serviceaccount:kube-system:generic-garbage-collector"`), "system:kube-controller-manager@8 collector"},
		"the namespace went, and who did it":  {line(7, "delete", "namespaces", "a/a", admin, 200, "") + line(8, "deletecollection", "configmaps", "a/", nsc, 200, ""), nsc + "@8 presumed namespace by jane"},
		"what stands after the last line end": {strings.TrimSuffix(deleted, "\n"), "jane@8"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := logOf(t, tc.log).Deletions(t.Context(), configMap)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range found {
				text := fmt.Sprintf("%s@%d", d.User, d.Time.Second())
				if d.Collector {
					text += " collector"
				}
				if d.Presumed {
					text += " presumed"
				}
				if d.Selective {
					text += " selective"
				}
				if d.Namespace != nil {
					text += " namespace by " + d.Namespace.User
				}
				got = append(got, text)
			}
			if text := strings.Join(got, " "); text != tc.want {
				t.Errorf("got %q, want %q", text, tc.want)
			}
		})
	}
}

// TestDeletions_Look: only that look counts by which the collector decided.
func TestDeletions_Look(t *testing.T) {
	written := line(2, "create", "configmaps", "a/c", "ci", 201, with("c", "uc", ref("w", "u1")))
	collected := line(40, "delete", "configmaps", "a/c", gc, 200, "")
	looked := func(second, code int, answer string) string {
		return line(second, "get", "widgets.acme.example", "a/w", gc, code, answer)
	}
	there := with("w", "u1", "")
	going := `"responseObject":{"kind":"Any","metadata":{"name":"w","uid":"u1","deletionTimestamp":"2030-05-04T12:00:30Z"}}`
	waiting := `"responseObject":{"kind":"Any","metadata":{"name":"w","uid":"u1","deletionTimestamp":"2030-05-04T12:00:30Z","finalizers":["foregroundDeletion"]}}`
	for name, tc := range map[string]struct {
		log  string
		want string // @second code, and what it found
	}{
		"long before":                            {written + looked(3, 200, there) + collected, "none"},
		"long before, and its owner went since":  {written + looked(3, 200, there) + line(38, "delete", "widgets.acme.example", "a/w", admin, 200, "") + collected, "none"},
		"right before, but then its owner went":  {written + looked(38, 200, there) + line(39, "delete", "widgets.acme.example", "a/w", admin, 200, "") + collected, "none"},
		"right before, waiting":                  {written + line(30, "delete", "widgets.acme.example", "a/w", admin, 200, "") + looked(39, 200, waiting) + collected, "@39 200 deleting waiting"},
		"right before, going":                    {written + looked(39, 200, going) + collected, "@39 200 deleting"},
		"right before, there":                    {written + looked(39, 200, there) + collected, "@39 200"},
		"the newest":                             {written + looked(38, 200, there) + looked(39, 404, "") + collected, "@39 404"},
		"absence is remembered":                  {written + looked(4, 404, "") + collected, "@4 404"},
		"another one is absence, too":            {written + looked(4, 200, with("w", "u2", "")) + collected, "@4 200"},
		"absent before the reference was there":  {looked(1, 404, "") + written + collected, "none"},
		"absent before the owner went":           {written + looked(4, 404, "") + line(5, "delete", "widgets.acme.example", "a/w", admin, 200, "") + collected, "none"},
		"one of that name in another namespace":  {written + line(39, "get", "widgets.acme.example", "b/w", gc, 404, "") + collected, "none"},
		"a cluster-scoped owner of that name is": {written + line(39, "get", "widgets.acme.example", "w", gc, 404, "") + collected, "@39 404"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := logOf(t, tc.log).Deletions(t.Context(), configMap)
			if err != nil || len(found) != 1 || len(found[0].References) != 1 {
				t.Fatalf("%+v, %v", found, err)
			}
			got := "none"
			if look := found[0].References[0].Look; look != nil {
				got = fmt.Sprintf("@%d %d", look.Time.Second(), look.Code)
				if look.Deleting {
					got += " deleting"
				}
				if look.Waiting {
					got += " waiting"
				}
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestDeletions_ClusterScopedOwner: that of which no look is known is found where it is.
func TestDeletions_ClusterScopedOwner(t *testing.T) {
	log := line(2, "create", "configmaps", "a/c", "ci", 201, with("c", "uc", ref("w", "u1"))) +
		line(5, "delete", "widgets.acme.example", "w", admin, 200, "") +
		line(6, "delete", "configmaps", "a/c", gc, 200, "")
	found, err := logOf(t, log).Deletions(t.Context(), configMap)
	if err != nil || len(found) != 1 || len(found[0].References) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	if r := found[0].References[0]; r.Look != nil || r.Deleted == nil || r.Deleted.User != admin {
		t.Errorf("the reference is %+v", r)
	}
}

// TestDeletions_Metadata: without bodies the collector's looks are what there is.
func TestDeletions_Metadata(t *testing.T) {
	log := line(1, "get", "gadgets.acme.example", "a/long-ago", gc, 404, "") +
		line(7, "get", "widgets.acme.example", "a/w", gc, 404, "") +
		line(7, "get", "widgets.acme.example", "a/other", admin, 404, "") +
		line(8, "delete", "configmaps", "a/c", gc, 200, "")
	found, err := logOf(t, log).Deletions(t.Context(), configMap)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d deletions, %v", len(found), err)
	}
	if d := found[0]; d.Known || len(d.Looks) != 1 || d.Looks[0].Name != "w" || d.Looks[0].Code != 404 {
		t.Errorf("the deletion is %+v", d)
	}
}

// TestDeletions_Request: at the level Request the references are in what was sent.
func TestDeletions_Request(t *testing.T) {
	log := line(2, "patch", "configmaps", "a/c", "operator", 200, `"requestObject":{"metadata":{"ownerReferences":[`+ref("w", "u1")+`]}}`) +
		line(3, "patch", "configmaps", "a/c", "kubectl", 200, `"requestObject":{"metadata":{"labels":{"x":"y"}}}`) +
		line(7, "get", "widgets.acme.example", "a/w", gc, 404, "") +
		line(8, "delete", "configmaps", "a/c", gc, 200, "")
	found, err := logOf(t, log).Deletions(t.Context(), configMap)
	if err != nil || len(found) != 1 || len(found[0].References) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	if r := found[0].References[0]; r.Written.User != "operator" || r.Look.Code != 404 {
		t.Errorf("the reference is %+v", r)
	}
}

// TestLog_Files: a log that was rotated is read in the order of its files, and what is wrong
// with one is said of that one.
func TestLog_Files(t *testing.T) {
	lines := strings.SplitAfter(story(), "\n")
	log := logOf(t, strings.Join(lines[:4], ""), strings.Join(lines[4:], ""))
	found, err := log.Deletions(t.Context(), configMap)
	if err != nil || len(found) != 1 || len(found[0].References) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := New([]string{filepath.Join(t.TempDir(), "none")}).Deletions(t.Context(), configMap); err == nil {
		t.Error("a file that is not there is no error")
	}
	if _, err := logOf(t, "\"c\" is no event\n"+story()).Deletions(t.Context(), configMap); err == nil {
		t.Error("a line in the middle that is no event is no error")
	}
}

// TestLog_Wrong: what is no audit log is not taken for one that tells of nothing.
func TestLog_Wrong(t *testing.T) {
	for name, text := range map[string]string{
		"plain text":      "I0504 12:00:00 a log of something\n",
		"another kind":    `{"kind":"Event","apiVersion":"v1","metadata":{"name":"c"}}` + "\n",
		"JSON that is no": "[]\n",
		"no line at all":  "a log of something",
	} {
		if _, err := logOf(t, text).Deletions(t.Context(), configMap); !errors.Is(err, ErrNoLog) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLog_Compressed: the API server compresses what it rotates.
func TestLog_Compressed(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(story())); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := logOf(t, packed.String()).Deletions(t.Context(), configMap)
	if err != nil || len(found) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestLog_Overlap: what stands in two files is counted once.
func TestLog_Overlap(t *testing.T) {
	made := line(2, "create", "configmaps", "a/c", admin, 201, "")
	log := made + line(8, "delete", "configmaps", "a/c", admin, 200, `"auditID":"x"`) + made + line(9, "deletecollection", "configmaps", "a/", admin, 200, `"auditID":"y"`)
	found, err := logOf(t, log, log).Deletions(t.Context(), configMap)
	if err != nil || len(found) != 2 {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestSpool(t *testing.T) {
	name, err := Spool(strings.NewReader(story()))
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(name)
	found, err := New([]string{name}).Deletions(t.Context(), configMap)
	if err != nil || len(found) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestDeletions_Cycle: owners that own each other come to an end.
func TestDeletions_Cycle(t *testing.T) {
	var log strings.Builder
	for i := range 4 {
		log.WriteString(line(10*i, "create", "widgets.acme.example", "a/x", admin, 201, with("x", "ux", ref("y", "uy"))))
		log.WriteString(line(10*i+1, "create", "widgets.acme.example", "a/y", admin, 201, with("y", "uy", ref("x", "ux"))))
		log.WriteString(line(10*i+2, "delete", "widgets.acme.example", "a/x", gc, 200, ""))
		log.WriteString(line(10*i+3, "delete", "widgets.acme.example", "a/y", gc, 200, ""))
	}
	found, err := logOf(t, log.String()).Deletions(t.Context(), Subject{Group: "acme.example", Resource: "widgets", Kind: "Widget", Namespace: "a", Name: "x"})
	if err != nil || len(found) != 4 {
		t.Errorf("%d deletions, %v", len(found), err)
	}
}
