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

func parsed[P part](t *testing.T, p P, args ...string) P {
	t.Helper()
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	p.addFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return p
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
		"the last of two flags counts": {[]string{"--release-namespace=", "--release-namespace=ns"}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POD_NAMESPACE", "")
			wantError(t, parsed(t, newControllerOptions(), tc.args...).validate(), tc.want)
			wantError(t, parsed(t, newWebhookOptions(), tc.args...).validate(), tc.want)
		})
	}
}

// wantError wants an error that names something, or none.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("validate: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("validate = %v, want an error that names %s", err, want)
	}
}

func TestControllerOptions_Validate(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "ns")
	wantError(t, parsed(t, newControllerOptions(), "--concurrency=0").validate(), "--concurrency")
}

func TestWebhookOptions_Validate(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "ns")
	for flag, want := range map[string]string{
		"--guard-mode=audit":                  "",
		"--guard-mode=deny":                   "enforce, warn, audit or off",
		"--webhook-bind-address=127.0.0.1:80": "",
		"--webhook-bind-address=9443":         `"9443"`,
		"--webhook-bind-address=:99999":       "1 to 65535",
	} {
		wantError(t, parsed(t, newWebhookOptions(), flag).validate(), want)
	}
}

func TestOptions_ReleaseNamespaceOfThePod(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "of-the-pod")
	if got := parsed(t, newWebhookOptions()).releaseNamespace; got != "of-the-pod" {
		t.Errorf("release namespace %q, want that of the pod", got)
	}
	if got := parsed(t, newWebhookOptions(), "--release-namespace=other").releaseNamespace; got != "other" {
		t.Errorf("release namespace %q, want that of the flag", got)
	}
}

func TestCommand_HelpNamesEveryFlag(t *testing.T) {
	for name, p := range map[string]part{"controller": newControllerOptions(), "webhook": newWebhookOptions()} {
		var out bytes.Buffer
		command := newCommand()
		command.SetOut(&out)
		command.SetArgs([]string{"run", name, "--help"})
		if err := command.Execute(); err != nil {
			t.Fatal(err)
		}
		flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
		p.addFlags(flags)
		flags.VisitAll(func(flag *pflag.Flag) {
			if !strings.Contains(out.String(), "--"+flag.Name) || flag.Usage == "" {
				t.Errorf("the help of %s does not explain --%s", name, flag.Name)
			}
		})
	}
}

func TestCommand_Refuses(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "ns")
	for name, args := range map[string][]string{
		"an unknown command":  {"walk"},
		"an unknown part":     {"run", "everything"},
		"an unknown flag":     {"run", "controller", "--fast"},
		"an argument":         {"run", "controller", "now"},
		"a flag of the other": {"run", "webhook", "--concurrency=1"},
		"a wrong flag value":  {"run", "controller", "--terminating-after=soon"},
		"a wrong mode":        {"run", "webhook", "--guard-mode=deny"},
		"a kubeconfig absent": {"run", "controller", "--kubeconfig=/nonexistent/kubeconfig"},
		"for the webhook too": {"run", "webhook", "--kubeconfig=/nonexistent/kubeconfig"},
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
		log, err := newLogger(&o)
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
	o := newControllerOptions()
	o.releaseNamespace = "release"
	got := o.managerOptions()
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
