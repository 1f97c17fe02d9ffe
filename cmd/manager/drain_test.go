package main

import (
	"strings"
	"testing"
)

// TestDrain_Refusals: what is wrong is said before anything is asked of a cluster.
func TestDrain_Refusals(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no release namespace": {[]string{"--policy=Orphan"}, "POD_NAMESPACE"},
		"an unknown policy":    {[]string{"--policy=Keep", "--release-namespace=ns"}, "Fail, Orphan or Delete"},
		"no time":              {[]string{"--timeout=0s", "--release-namespace=ns"}, "--timeout"},
		"no name":              {[]string{"--deployment=A B", "--release-namespace=ns"}, "--deployment"},
		"a flag that is run's": {[]string{"--leader-elect", "--release-namespace=ns"}, "unknown flag"},
		"no kubeconfig":        {[]string{"--release-namespace=ns", "--kubeconfig=testdata/none"}, "testdata/none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POD_NAMESPACE", "")
			command := newCommand()
			command.SetArgs(append([]string{"drain"}, tc.args...))
			if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("drain: %v, want an error that names %s", err, tc.want)
			}
		})
	}
}

func TestSelftest_Refusals(t *testing.T) {
	command := newCommand()
	command.SetArgs([]string{"selftest", "--guard-mode=deny"})
	if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "--guard-mode") {
		t.Errorf("selftest: %v", err)
	}
}
