package node

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestMounts: everything that containerd and kubelet insist on is the node's own, and made
// so before anything is mounted that the machine could see.
func TestMounts(t *testing.T) {
	all := mounts("/sandbox")
	if all[0].target != "/" || all[0].flags&syscall.MS_PRIVATE == 0 {
		t.Errorf("the first mount is %+v: those after it would be seen on the machine", all[0])
	}
	targets := map[string]mount{}
	for _, m := range all {
		targets[m.target] = m
	}
	for _, folder := range folders {
		m, ok := targets[folder]
		switch {
		case !ok:
			t.Errorf("%s is the machine's", folder)
		case lasting[folder] && m.source != "/sandbox/node"+folder:
			t.Errorf("%s does not outlive the node: %+v", folder, m)
		case !lasting[folder] && m.kind != "tmpfs":
			t.Errorf("%s is not empty at the start: %+v", folder, m)
		}
	}
}

// TestReap returns the code of the one process, whatever others end before.
func TestReap(t *testing.T) {
	if os.Getenv("REAP") == "" {
		// In a process of its own: it takes the ends of all children of its process.
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=TestReap$")
		cmd.Env = append(os.Environ(), "REAP=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for script, want := range map[string]int{"sleep 0.2; exit 7": 7, "kill -TERM $$": 128 + 15, "exit 0": 0} {
		pids := make([]int, 0, 2)
		for _, one := range []string{"exit 3", script} {
			p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", one}, &os.ProcAttr{})
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, p.Pid)
		}
		if code, err := reap(pids[1]); code != want || err != nil {
			t.Errorf("reap() of %q = %d, %v, want %d", script, code, err, want)
		}
	}
}
