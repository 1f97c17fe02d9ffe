package integration

import (
	"strings"
	"testing"
)

// TestNodeCheck: where a node can run, the check says so, and it sees each thing that is taken
// away from it there.
func TestNodeCheck(t *testing.T) {
	sandbox := binary(t, "sandbox")
	if _, stderr, err := run(t, sandbox, "node", "check"); err != nil {
		if exitCode(err) != 3 || stderr == "" {
			t.Fatalf("node check: %v, want exit code 0, or 3 and a reason:\n%s", err, stderr)
		}
		t.Skipf("this machine cannot run a node, so nothing can be taken away: %s", stderr)
	}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"namespaces":       {args: []string{"setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", sandbox, "node", "check"}, want: "making namespaces"},
		"links":            {args: []string{"setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin", sandbox, "node", "check"}, want: "ip link"},
		"cgroups":          {args: []string{"unshare", "--mount", "sh", "-c", "mount -t tmpfs none /sys/fs/cgroup && exec " + sandbox + " node check"}, want: "no cgroups"},
		"writable cgroups": {args: []string{"unshare", "--mount", "sh", "-c", "for f in /sys/fs/cgroup /sys/fs/cgroup/*; do mountpoint -q $f && mount -o remount,bind,ro $f; done; exec " + sandbox + " node check"}, want: "making a cgroup"},
		"its addresses":    {args: []string{"unshare", "--net", "sh", "-c", "ip link add taken type bridge && ip address add 10.213.5.1/24 dev taken && exec " + sandbox + " node check"}, want: "10.213.5.1/24"},
		"its packages":     {args: []string{"env", "PATH=/nowhere", sandbox, "node", "check"}, want: "runc"},
	} {
		t.Run(name, func(t *testing.T) {
			_, stderr, err := run(t, tc.args[0], tc.args[1:]...)
			if exitCode(err) != 3 || !strings.Contains(stderr, "a node cannot run here") || !strings.Contains(stderr, tc.want) {
				t.Errorf("%v, want exit code 3 and %q:\n%s", err, tc.want, stderr)
			}
		})
	}
}
