package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"labhub.io/teamspace/sandbox/control"
	"labhub.io/teamspace/sandbox/process"
)

// fake is a sandbox that carries nothing out.
type fake struct{ got []control.Command }

func (f *fake) Status() []process.Status {
	return []process.Status{
		{Name: "etcd", State: process.Running, PID: 12, Addresses: map[string]string{"peer": "127.0.0.1:2", "client": "127.0.0.1:1"}, Log: "/dir/etcd.log"},
		{Name: "manager", State: process.Restarting, Restarts: 3, Log: "/dir/manager.log"},
	}
}

func (f *fake) Do(_ context.Context, c control.Command) (string, error) {
	f.got = append(f.got, c)
	if c.Component == "kubelet" {
		return "", &control.UnknownComponentError{Name: c.Component, Known: []string{"etcd", "manager"}}
	}
	return c.Component + " is done", nil
}

// serve runs a fake sandbox in a directory.
func serve(t *testing.T) (*fake, string) {
	t.Helper()
	f, dir := &fake{}, t.TempDir()
	server, err := control.Serve(dir, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return f, dir
}

// call calls the command line.
func call(args ...string) (code int, stdout, stderr string) {
	var out, errOut strings.Builder
	code = Main(args, &out, &errOut)
	return code, out.String(), errOut.String()
}

func TestMain_ComponentCommands(t *testing.T) {
	f, dir := serve(t)
	for _, args := range [][]string{
		{"stop", "--dir", dir, "etcd"},
		{"stop", "--dir", dir, "--kill", "etcd"},
		{"start", "--dir", dir, "etcd"},
		{"restart", "etcd", "--kill", "--dir", dir},
	} {
		code, stdout, stderr := call(args...)
		if code != success || stdout != "" || stderr != "sandbox: etcd is done\n" {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
	want := []control.Command{
		{Action: control.Stop, Component: "etcd"},
		{Action: control.Stop, Component: "etcd", Kill: true},
		{Action: control.Start, Component: "etcd"},
		{Action: control.Restart, Component: "etcd", Kill: true},
	}
	if diff := cmp.Diff(want, f.got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestMain_Status(t *testing.T) {
	_, dir := serve(t)
	code, stdout, stderr := call("status", "--dir", dir)
	want := `COMPONENT   STATE        PID   RESTARTS   ADDRESSES
etcd        running      12    0          client=127.0.0.1:1 peer=127.0.0.1:2
manager     restarting   -     3          -
`
	if diff := cmp.Diff(want, stdout); code != success || stderr != "" || diff != "" {
		t.Errorf("exit code %d, stderr %q, stdout (-want +got):\n%s", code, stderr, diff)
	}

	code, stdout, stderr = call("status", "--dir", dir, "-o", "json")
	want = `[
  {
    "name": "etcd",
    "state": "running",
    "pid": 12,
    "addresses": {
      "client": "127.0.0.1:1",
      "peer": "127.0.0.1:2"
    },
    "log": "/dir/etcd.log"
  },
  {
    "name": "manager",
    "state": "restarting",
    "restarts": 3,
    "log": "/dir/manager.log"
  }
]
`
	if diff := cmp.Diff(want, stdout); code != success || stderr != "" || diff != "" {
		t.Errorf("exit code %d, stderr %q, stdout (-want +got):\n%s", code, stderr, diff)
	}
}

func TestMain_Errors(t *testing.T) {
	_, running := serve(t)
	empty := t.TempDir()
	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"an unknown command":   {[]string{"explode"}, wrongUsage, `there is no command "explode"`},
		"an unknown flag":      {[]string{"up", "--explode"}, wrongUsage, "sandbox up --help"},
		"no directory":         {[]string{"stop", "etcd"}, wrongUsage, "--dir is missing"},
		"no component":         {[]string{"stop", "--dir", running}, wrongUsage, "one component"},
		"two components":       {[]string{"stop", "--dir", running, "etcd", "manager"}, wrongUsage, "one component"},
		"an unknown component": {[]string{"stop", "--dir", running, "kubelet"}, failure, "there are: etcd, manager"},
		"no sandbox":           {[]string{"status", "--dir", empty}, failure, "no sandbox is ready in " + empty},
		"an unknown format":    {[]string{"status", "--dir", running, "-o", "xml"}, wrongUsage, "xml"},
		"status without a dir": {[]string{"status"}, wrongUsage, "--dir is missing"},
		"an argument to up":    {[]string{"up", "etcd"}, wrongUsage, `"etcd"`},
		"a port too high":      {[]string{"up", "--dir", empty, "--port", "70000"}, wrongUsage, "70000"},
		"a log, no policy":     {[]string{"up", "--dir", empty, "--audit-log", "x"}, wrongUsage, "--audit-policy"},
		"an image, no node":    {[]string{"up", "--dir", empty, "--image", "x.tar"}, wrongUsage, "--node"},
		"an image of nothing":  {[]string{"image", "--name", "x:1", "--output", empty + "/x.tar"}, wrongUsage, "--binary"},
		"no binary to pack":    {[]string{"image", "--binary", "/absent", "--name", "x:1", "--output", empty + "/x.tar"}, failure, "/absent"},
		"no binaries":          {[]string{"up", "--dir", empty}, failure, "`make sandbox` builds it"},
		"no manager":           {[]string{"dev", "--dir", empty, "--manager", "/absent"}, failure, "`make build` builds it"},
		"no chart":             {[]string{"dev", "--dir", empty, "--manager", "/bin/sh", "--chart", "/absent"}, failure, "/absent"},
		"no example":           {[]string{"tour", "--example", "/absent"}, failure, "/absent"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := call(tc.args...)
			if code != tc.code || stdout != "" || !strings.HasPrefix(stderr, "sandbox: error: ") || !strings.Contains(stderr, tc.want) {
				t.Errorf("exit code %d, want %d; stdout %q; stderr lacks %q or its prefix:\n%s", code, tc.code, stdout, tc.want, stderr)
			}
		})
	}
}

func TestMain_HelpNamesExamples(t *testing.T) {
	for _, command := range []string{"", "up", "dev", "tour", "stop", "start", "restart", "status", "image"} {
		args := append(strings.Fields(command), "--help")
		code, stdout, stderr := call(args...)
		if code != success || stderr != "" || !strings.Contains(stdout, "Examples:\n  ") {
			t.Errorf("%v: exit code %d, stderr %q, stdout:\n%s", args, code, stderr, stdout)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if code, stdout, _ := call("completion", shell); code != success || stdout == "" {
			t.Errorf("completion for %s: exit code %d", shell, code)
		}
	}
}

func TestRunTour_CleansUpWhenTheSandboxFails(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	example := filepath.Join(t.TempDir(), "example")
	if err := os.WriteFile(example, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := call("tour", "--example", example, "--lab", t.TempDir(), "--manager", "/bin/sh", "--chart", t.TempDir())
	if code != failure || stdout != "" || !strings.Contains(stderr, "make sandbox") {
		t.Errorf("exit code %d, stdout %q, stderr:\n%s", code, stdout, stderr)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) != 0 {
		t.Errorf("the tour has left %v (%v)", left, err)
	}
}

func TestLatch(t *testing.T) {
	var out strings.Builder
	l := &latch{w: &out}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { _, _ = l.Write([]byte("a")) }, "a"},
		{l.hold, "a"},
		{func() { _, _ = l.Write([]byte("b")) }, "a"},
		{l.release, "ab"},
		{func() { _, _ = l.Write([]byte("c")) }, "abc"},
	} {
		step.do()
		if out.String() != step.want {
			t.Errorf("written = %q, want %q", out.String(), step.want)
		}
	}
}

func TestMain_Render(t *testing.T) {
	chart := filepath.Join("..", "dev", "testdata", "single")
	code, stdout, stderr := call("render", "--chart", chart, "--set", "unknown=true")
	if code != success || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	at := 0
	for _, want := range []string{`"name": "things.example.org"`, `"kind": "ServiceAccount"`, `"namespace": "teamspace-system"`, `"kind": "Unknown"`, `"kind": "List"`} {
		found := strings.Index(stdout[at:], want)
		if found < 0 {
			t.Fatalf("%s is missing, or not where it should be:\n%s", want, stdout)
		}
		at += found
	}
	if strings.Contains(stdout, "Deployment") {
		t.Errorf("a Deployment is printed:\n%s", stdout)
	}
	if code, _, stderr := call("render", "--chart", "absent"); code != failure || !strings.Contains(stderr, "absent") {
		t.Errorf("an absent chart: exit code %d, %s", code, stderr)
	}
}
