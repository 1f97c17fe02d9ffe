// Package version says which version of TeamSpace a program was built from.
package version

import "runtime/debug"

// Get returns what the build knows of itself.
func Get() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
