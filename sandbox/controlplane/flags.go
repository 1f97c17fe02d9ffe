package controlplane

import "strings"

// flags are the flags of a component, in the order in which they are given.
type flags [][2]string

// with returns the flags with more ones, given as "name=value" or "name", with
// or without dashes. They replace those of the same name, because some flags
// of Kubernetes add up when they are repeated.
func (f flags) with(more []string) flags {
	replaced := map[string]bool{}
	var added flags
	for _, flag := range more {
		name, value, ok := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		if !ok {
			value = "true"
		}
		replaced[name] = true
		added = append(added, [2]string{name, value})
	}
	var all flags
	for _, flag := range f {
		if !replaced[flag[0]] {
			all = append(all, flag)
		}
	}
	return append(all, added...)
}

// args are the flags as arguments of a program.
func (f flags) args() []string {
	args := make([]string, 0, len(f))
	for _, flag := range f {
		args = append(args, "--"+flag[0]+"="+flag[1])
	}
	return args
}
