package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/archive"
)

func parsed(t *testing.T, args ...string) *options {
	t.Helper()
	o := defaultOptions()
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	o.addFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOptions_Validate(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string // what the error has to name; empty: no error
	}{
		"as the chart runs it":         {[]string{"--release-namespace=teamspace-system"}, ""},
		"logs for people":              {[]string{"--release-namespace=ns", "--log-format=console", "--log-level=debug"}, ""},
		"no release namespace":         {[]string{"--release-namespace="}, "POD_NAMESPACE"},
		"no name of a namespace":       {[]string{"--release-namespace=Bad_NS"}, `"Bad_NS"`},
		"an unknown log format":        {[]string{"--release-namespace=ns", "--log-format=xml"}, `"xml"`},
		"an unknown log level":         {[]string{"--release-namespace=ns", "--log-level=loud"}, `"loud"`},
		"nobody to work":               {[]string{"--release-namespace=ns", "--concurrency=0"}, "--concurrency"},
		"an unknown mode":              {[]string{"--release-namespace=ns", "--guard-mode=deny"}, "enforce, warn, audit or off"},
		"an address without a host":    {[]string{"--release-namespace=ns", "--webhook-bind-address=9443"}, `"9443"`},
		"an impossible port":           {[]string{"--release-namespace=ns", "--webhook-bind-address=:99999"}, "1 to 65535"},
		"no name of a Service":         {[]string{"--release-namespace=ns", "--webhook-service="}, "--webhook-service"},
		"a time that is none":          {[]string{"--release-namespace=ns", "--terminating-after=-1s"}, "--terminating-after"},
		"cert-manager":                 {[]string{"--release-namespace=ns", "--certificate-provider=cert-manager"}, ""},
		"an unknown provider":          {[]string{"--release-namespace=ns", "--certificate-provider=vault"}, "self or cert-manager"},
		"a leaf that ends at once":     {[]string{"--release-namespace=ns", "--certificate-lifetime=1s"}, "--certificate-lifetime"},
		"an authority that ends early": {[]string{"--release-namespace=ns", "--authority-lifetime=24h"}, "--authority-lifetime"},
		"less than nothing judged":     {[]string{"--release-namespace=ns", "--webhook-concurrency=-1"}, "--webhook-concurrency"},
		"a lame duck that never lived": {[]string{"--release-namespace=ns", "--lame-duck=-1s"}, "--lame-duck"},
		"nothing to do":                {[]string{"--release-namespace=ns", "--webhooks=false", "--controllers=false"}, "nothing to do"},
		"the last of two flags counts": {[]string{"--release-namespace=", "--release-namespace=ns"}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POD_NAMESPACE", "")
			err := parsed(t, tc.args...).validate()
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("validate: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("validate = %v, want an error that names %s", err, tc.want)
			}
		})
	}
}

// TestOptions_Parts: a part that is asked for is the only one, unless both are.
func TestOptions_Parts(t *testing.T) {
	for args, want := range map[string][2]bool{
		"":                                 {true, true},
		"--controllers":                    {true, false},
		"--webhooks":                       {false, true},
		"--webhooks=false":                 {true, false},
		"--controllers=false":              {false, true},
		"--webhooks --controllers":         {true, true},
		"--webhooks --controllers=false":   {false, true},
		"--webhooks=false --controllers=0": {false, false},
	} {
		o := defaultOptions()
		flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
		o.addFlags(flags)
		if err := flags.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		o.complete(flags)
		if got := [2]bool{o.controllers, o.webhooks}; got != want {
			t.Errorf("%q: controllers, webhooks = %t, want %t", args, got, want)
		}
		options := managerOptions(newScheme(), o)
		if options.LeaderElection != want[0] {
			t.Errorf("%q: leader election %t", args, options.LeaderElection)
		}
		if got := len(options.Cache.ByObject) > 2; got != want[1] {
			t.Errorf("%q: %d types are cached", args, len(options.Cache.ByObject))
		}
	}
}

func TestOptions_ReleaseNamespaceOfThePod(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "of-the-pod")
	if got := parsed(t).releaseNamespace; got != "of-the-pod" {
		t.Errorf("release namespace %q, want that of the pod", got)
	}
	if got := parsed(t, "--release-namespace=other").releaseNamespace; got != "other" {
		t.Errorf("release namespace %q, want that of the flag", got)
	}
}

func TestCommand_HelpNamesEveryFlag(t *testing.T) {
	var out bytes.Buffer
	command := newCommand()
	command.SetOut(&out)
	command.SetArgs([]string{"run", "--help"})
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	defaultOptions().addFlags(flags)
	flags.VisitAll(func(flag *pflag.Flag) {
		if !strings.Contains(out.String(), "--"+flag.Name) || flag.Usage == "" {
			t.Errorf("the help does not explain --%s", flag.Name)
		}
	})
}

func TestCommand_Refuses(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "ns")
	for name, args := range map[string][]string{
		"an unknown command":  {"walk"},
		"an unknown flag":     {"run", "--fast"},
		"an argument":         {"run", "now"},
		"a wrong flag value":  {"run", "--terminating-after=soon"},
		"a kubeconfig absent": {"run", "--kubeconfig=/nonexistent/kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			command := newCommand()
			command.SetOut(&bytes.Buffer{})
			command.SetErr(&bytes.Buffer{})
			command.SetArgs(args)
			if err := command.Execute(); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestNewLogger(t *testing.T) {
	for _, format := range []string{formatJSON, formatConsole} {
		o := defaultOptions()
		o.logFormat, o.logLevel = format, "error"
		log, err := newLogger(o)
		if err != nil {
			t.Fatal(err)
		}
		if log.Enabled() {
			t.Errorf("%s: information is logged at level error", format)
		}
	}
}

func TestProtectedNamespaces(t *testing.T) {
	inCluster := archive.NewConfigMapStore(nil, "records")
	if got := strings.Join(protectedNamespaces("release", inCluster), " "); got != "release records" {
		t.Errorf("protected with ConfigMaps: %s", got)
	}
	directory, err := archive.NewDirectoryStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(protectedNamespaces("release", directory), " "); got != "release" {
		t.Errorf("protected with a directory: %s", got)
	}
}

func TestManagerOptions(t *testing.T) {
	o := defaultOptions()
	o.releaseNamespace = "release"
	got := managerOptions(newScheme(), o)
	if !got.LeaderElection || got.LeaderElectionNamespace != "release" || !got.LeaderElectionReleaseOnCancel {
		t.Errorf("leader election: %t in %q, released %t", got.LeaderElection, got.LeaderElectionNamespace, got.LeaderElectionReleaseOnCancel)
	}
	if *got.GracefulShutdownTimeout > 4*time.Second {
		t.Errorf("a clean stop may take %s, the sandbox kills after 4 s", *got.GracefulShutdownTimeout)
	}
	named := map[string]bool{}
	for _, how := range got.Cache.ByObject {
		named[how.Field.String()] = true
	}
	for _, name := range []string{v1alpha1.QuotaName, v1alpha1.LimitRangeName} {
		if !named["metadata.name="+name] {
			t.Errorf("more than %s is cached: %v", name, named)
		}
	}
}

func TestNewScheme_knowsTeamSpace(t *testing.T) {
	if scheme := newScheme(); !scheme.Recognizes(v1alpha1.GroupVersionKind) {
		t.Errorf("the scheme does not know %s", v1alpha1.GroupVersionKind)
	}
}

// TestOptions_Concurrency: what is not chosen goes by the processor time, what is stays.
func TestOptions_Concurrency(t *testing.T) {
	for flag, want := range map[string]int{
		"--webhook-concurrency=0": capacity(cores()),
		"--webhook-concurrency=7": 7,
	} {
		o := parsed(t, "--release-namespace=ns", flag)
		o.complete(pflag.NewFlagSet("run", pflag.ContinueOnError))
		if o.requests != want {
			t.Errorf("%s: %d requests at the same time, want %d", flag, o.requests, want)
		}
	}
}

// TestManagerOptions_LameDuck: a clean stop has the time in which the webhooks go on.
func TestManagerOptions_LameDuck(t *testing.T) {
	o := parsed(t, "--release-namespace=ns", "--lame-duck=15s")
	if got := *managerOptions(newScheme(), o).GracefulShutdownTimeout; got != stopTimeout+15*time.Second {
		t.Errorf("a clean stop may take %s", got)
	}
	o.webhooks = false
	if got := *managerOptions(newScheme(), o).GracefulShutdownTimeout; got != stopTimeout {
		t.Errorf("without webhooks a clean stop may take %s", got)
	}
}
