package integration

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// traces is what there is on a machine that a node could leave something of.
type traces map[string]bool

// since are those that were not there before, and those that no longer are.
func (tr traces) since(before traces) []string {
	var changed []string
	for one := range tr {
		if !before[one] {
			changed = append(changed, "+ "+one)
		}
	}
	for one := range before {
		if !tr[one] {
			changed = append(changed, "- "+one)
		}
	}
	slices.Sort(changed)
	return changed
}

// add notes something of a kind.
func (tr traces) add(kind, what string) { tr[kind+": "+strings.TrimSpace(what)] = true }

// watched are where programs put things while they run. What is below them changes with
// everything that goes on; what is in them does not.
var watched = []string{"/", "/etc", "/opt", "/run", "/var/lib", "/var/log", "/var/run"}

// kept is the file that the next node has to find.
const kept = "/run/teamspace-sandbox-node.json"

// volatile are settings of the kernel that change by themselves.
var volatile = []string{"/kernel/random/", "/kernel/ns_last_pid", "/kernel/pty/nr", "/kernel/perf_event_max_sample_rate", "/net/netfilter/nf_conntrack_count"}

// look notes what there is on the machine now.
func look(t *testing.T) traces {
	t.Helper()
	now := traces{}
	for _, folder := range watched {
		for _, entry := range must(os.ReadDir(folder))(t) {
			if path := filepath.Join(folder, entry.Name()); path != kept {
				now.add("file", path)
			}
		}
	}
	for line := range strings.Lines(string(must(os.ReadFile("/proc/self/mountinfo"))(t))) {
		now.add("mount", strings.Fields(line)[4])
	}
	for _, entry := range must(os.ReadDir("/sys/class/net"))(t) {
		now.add("link", entry.Name())
	}
	now.addNamespaces(t)
	now.addCgroups(t)
	now.addSettings(t)
	for _, program := range [][]string{{"nft", "--stateless", "list", "ruleset"}, {"ipset", "list", "-name"}, {"ip", "route", "show", "table", "all"}} {
		for line := range strings.Lines(string(must(exec.CommandContext(t.Context(), program[0], program[1:]...).Output())(t))) {
			now.add(program[0], line)
		}
	}
	return now
}

// addNamespaces notes those that processes are in.
func (tr traces) addNamespaces(t *testing.T) {
	t.Helper()
	for _, kind := range []string{"mnt", "net", "pid"} {
		files, err := filepath.Glob("/proc/[0-9]*/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if name, err := os.Readlink(file); err == nil { // else the process has ended
				tr.add("namespace", name)
			}
		}
	}
}

// addCgroups notes all that there are.
func (tr traces) addCgroups(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			tr.add("cgroup", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// addSettings notes the values of the kernel's settings.
func (tr traces) addSettings(t *testing.T) {
	t.Helper()
	for _, part := range []string{"kernel", "net", "vm", "user"} {
		err := filepath.WalkDir("/proc/sys/"+part, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || slices.ContainsFunc(volatile, func(v string) bool { return strings.Contains(path, v) }) {
				return nil //nolint:nilerr // it has gone meanwhile
			}
			if value, err := os.ReadFile(path); err == nil { // some can only be written
				tr.add("setting", fmt.Sprintf("%s = %s", path, value))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// must returns a function that returns the value, or fails the test.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
