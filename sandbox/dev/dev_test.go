package dev

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"labhub.io/teamspace/sandbox/directory"
)

// newProduct returns the product of a chart on an API server.
func newProduct(t *testing.T, s *apiServer, chart string, change func(*Options)) *Product {
	t.Helper()
	dir, err := directory.Acquire(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dir.Release)
	options := Options{Chart: filepath.Join("testdata", chart), Manager: "/bin/manager", Namespace: "teamspace-system"}
	if change != nil {
		change(&options)
	}
	p, err := New(dir, Server{URL: "https://127.0.0.1:1", CA: []byte("authority")}, &rest.Config{Host: s.URL}, options)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProduct_Install(t *testing.T) {
	s := newAPIServer(t)
	if err := newProduct(t, s, "single", nil).Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"PATCH /api/v1/namespaces/teamspace-system",
		"PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.org",
		"PATCH /api/v1/namespaces/teamspace-system/serviceaccounts/teamspace",
		"PATCH /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/teamspace",
		"DELETE /apis/coordination.k8s.io/v1/namespaces/teamspace-system/leases",
	}
	if diff := cmp.Diff(want, s.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestProduct_InstallErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		chart string
		set   []string
		want  string
	}{
		"a chart without a Deployment": {chart: "single", set: []string{"deployment=false"}, want: "no Deployment"},
		"a kind that is not served":    {chart: "single", set: []string{"unknown=true"}, want: "Unknown"},
		"an absent chart":              {chart: "absent", want: "absent"},
	} {
		p := newProduct(t, newAPIServer(t), tc.chart, func(o *Options) { o.Set = tc.set })
		if err := p.Install(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: Install() = %v, want an error with %q", name, err, tc.want)
		}
	}
}

func TestProduct_Programs(t *testing.T) {
	s := newAPIServer(t)
	archive := "file://" + filepath.Join(t.TempDir(), "archive")
	p := newProduct(t, s, "single", func(o *Options) { o.Archive = archive })
	if err := p.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := p.Programs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].Name != "manager" || all[0].Path != "/bin/manager" || all[0].Log != p.dir.Path("manager.log") {
		t.Fatalf("programs = %+v, want the manager alone", all)
	}
	d := all[0]
	config := p.dir.Path("teamspace.kubeconfig")
	want := []string{
		"run", "--metrics-bind-address=:8080", "--archive=mem://",
		"--kubeconfig=" + config,
		"--health-probe-bind-address=" + d.Addresses["health"],
		"--metrics-bind-address=" + d.Addresses["metrics"],
		"--archive=" + archive,
	}
	if diff := cmp.Diff(want, d.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if !slices.Contains(d.Env, "POD_NAMESPACE=teamspace-system") {
		t.Errorf("the environment lacks the namespace: %v", d.Env)
	}
	if d.Backoff == nil || d.Backoff.First != time.Second || d.Backoff.Longest != 10*time.Second {
		t.Errorf("backoff = %+v, want 1s to 10s", d.Backoff)
	}
	data, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"token": "a token"`, "system:serviceaccount:teamspace-system:teamspace"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the kubeconfig lacks %s:\n%s", want, data)
		}
	}
	if requests := s.requests(); requests[len(requests)-1] != "POST /api/v1/namespaces/teamspace-system/serviceaccounts/teamspace/token" {
		t.Errorf("the last request was %s, want one for a token", requests[len(requests)-1])
	}
}

// TestProduct_LameDuck: a manager that goes on serving for a while does so for a second
// here, whatever the chart says, and one that does not know of it is not told.
func TestProduct_LameDuck(t *testing.T) {
	p := newProduct(t, newAPIServer(t), "single", nil)
	for name, args := range map[string][]string{"--lame-duck=1s": {"run", "--lame-duck=15s"}, "": {"run"}} {
		d, err := p.define("manager", program{args: args}, "config")
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(d.Args, "--lame-duck=1s"); got != (name != "") {
			t.Errorf("%v becomes %v", args, d.Args)
		}
	}
}

func TestProduct_ProgramsOfSeveralDeployments(t *testing.T) {
	p := newProduct(t, newAPIServer(t), "single", func(o *Options) { o.Set = []string{"second=true"} })
	if err := p.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := p.Programs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	seen := map[string]bool{}
	for _, d := range all {
		names = append(names, d.Name)
		for _, address := range d.Addresses {
			seen[address] = true
		}
	}
	if diff := cmp.Diff([]string{"manager/teamspace", "manager/teamspace-second"}, names); diff != "" {
		t.Errorf("programs (-want +got):\n%s", diff)
	}
	if len(seen) != 4 {
		t.Errorf("addresses = %v, want four different ones", seen)
	}
}

func TestProduct_Readiness(t *testing.T) {
	started := time.Now()
	for name, tc := range map[string]struct {
		status int
		elects bool
		taken  time.Time
		want   error
		fails  bool
	}{
		"ready and leading":                     {status: 200, elects: true, taken: started.Add(time.Second)},
		"ready, but another led before it":      {status: 200, elects: true, taken: started.Add(-time.Second), want: errNoLease, fails: true},
		"ready, and nobody leads":               {status: 200, elects: true, want: errNoLease, fails: true},
		"ready, and has no need to lead":        {status: 200},
		"leading, but not ready":                {status: 500, elects: true, taken: started.Add(time.Second), fails: true},
		"not ready, and has no need to lead":    {status: 500, fails: true},
		"ready, but the path is an unknown one": {status: 404, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.take(tc.taken)
			health := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/readyz" {
					t.Errorf("the probe asks for %s", r.URL.Path)
				}
				w.WriteHeader(tc.status)
			}))
			defer health.Close()
			probe := newProduct(t, s, "single", nil).readiness(strings.TrimPrefix(health.URL, "http://"), tc.elects)
			err := probe(t.Context(), started)
			if (err != nil) != tc.fails || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("the probe says %v, want an error: %t", err, tc.fails)
			}
		})
	}
}

func TestOptions_Check(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		options Options
		want    string
	}{
		"all there":              {Options{Chart: "testdata/single", Manager: "/bin/sh"}, ""},
		"an absent manager":      {Options{Chart: "testdata/single", Manager: "/absent"}, "make build"},
		"a manager that is none": {Options{Chart: "testdata/single", Manager: file}, "make build"},
		"a folder":               {Options{Chart: "testdata/single", Manager: t.TempDir()}, "make build"},
		"an absent chart":        {Options{Chart: "/absent", Manager: "/bin/sh"}, "/absent"},
	} {
		err := tc.options.Check()
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: Check() = %v, want an error with %q", name, err, tc.want)
		}
	}
}
