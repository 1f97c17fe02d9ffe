package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// requirement is a program that a node needs and does not bring along.
type requirement struct {
	// programs are looked for in the folders, or in PATH where there are none.
	programs []string
	folders  []string
	// debian is the package that has them.
	debian string
}

// pluginFolders is where programs for CNI may be.
var pluginFolders = []string{"/usr/lib/cni", "/opt/cni/bin"}

// requirements come from the distribution: runc because it has to be linked against
// libseccomp, the others because they belong to its kernel and its firewall.
var requirements = []requirement{
	{programs: []string{"runc"}, debian: "runc"},
	{programs: []string{"bridge", "host-local", "loopback", "portmap"}, folders: pluginFolders, debian: "containernetworking-plugins"},
	{programs: []string{"iptables"}, debian: "iptables"},
	{programs: []string{"ipset"}, debian: "ipset"},
	{programs: []string{"nft"}, debian: "nftables"},
	{programs: []string{"conntrack"}, debian: "conntrack"},
	{programs: []string{"ip"}, debian: "iproute2"},
}

// MissingPackagesError says what has to be installed.
type MissingPackagesError struct {
	Packages []string
	Err      error
}

// Error names the packages and what to do.
func (e *MissingPackagesError) Error() string {
	return fmt.Sprintf("a node needs programs that are not here, and they could not be installed (%v): install the Debian packages %s, or what has runc, the plugins of CNI (in %s), iptables, ipset, nft, conntrack and ip on your distribution",
		e.Err, strings.Join(e.Packages, " "), strings.Join(pluginFolders, " or "))
}

// Unwrap returns why they could not be installed.
func (e *MissingPackagesError) Unwrap() error { return e.Err }

// errNoInstaller is why nothing can be installed on other distributions.
var errNoInstaller = errors.New("there is no apt-get")

// ensurePackages installs what is missing, and says so before.
func ensurePackages(ctx context.Context, say func(string, ...any)) error {
	packages := missing(requirements, found)
	if len(packages) == 0 {
		return nil
	}
	say("installing the Debian packages %s, which a node needs", strings.Join(packages, " "))
	err := install(ctx, packages)
	if err == nil {
		if packages = missing(requirements, found); len(packages) == 0 {
			return nil
		}
		err = errors.New("apt-get succeeded, but they are still not found")
	}
	return &MissingPackagesError{Packages: packages, Err: err}
}

// missing are the packages of what is not found.
func missing(all []requirement, found func(program string, folders []string) bool) []string {
	var packages []string
	for _, r := range all {
		for _, program := range r.programs {
			if !found(program, r.folders) {
				packages = append(packages, r.debian)
				break
			}
		}
	}
	return packages
}

// found reports whether a program is in one of the folders, or in PATH.
func found(program string, folders []string) bool {
	if len(folders) == 0 {
		_, err := exec.LookPath(program)
		return err == nil
	}
	_, err := pluginFolder(program)
	return err == nil
}

// pluginFolder is the folder that has the plugin of CNI.
func pluginFolder(plugin string) (string, error) {
	for _, folder := range pluginFolders {
		if _, err := os.Stat(filepath.Join(folder, plugin)); err == nil {
			return folder, nil
		}
	}
	return "", fmt.Errorf("finding the plugin %q of CNI: it is neither in %s", plugin, strings.Join(pluginFolders, " nor in "))
}

// install runs apt-get. The lists of packages may be empty or too old to install from, so
// they are fetched when the first try fails.
func install(ctx context.Context, packages []string, options ...string) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return errNoInstaller
	}
	args := slices.Concat([]string{"install", "-y", "-qq", "--no-install-recommends"}, options, packages)
	if apt(ctx, args...) == nil {
		return nil
	}
	if err := apt(ctx, "update", "-qq"); err != nil {
		return err
	}
	return apt(ctx, args...)
}

func apt(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("apt-get %s: %w: %s", args[0], err, lines[len(lines)-1])
	}
	return nil
}
