package main

import (
	"context"
	"fmt"
	"strings"
)

// kubernetes names the module whose version in go.mod is the one that the
// binaries report.
const kubernetes = "k8s.io/kubernetes"

// release is a version of Kubernetes as its binaries are stamped with it.
type release struct {
	git, major, minor string
}

// kubernetesVersion reads the release from go.mod by way of the go command,
// which may have to download module files first.
func kubernetesVersion(ctx context.Context, out *progress) (release, error) {
	text, err := goOutput(ctx, out, "list", "-m", "-f", "{{.Version}}", kubernetes)
	if err != nil {
		return release{}, fmt.Errorf("reading the version of %s from go.mod: %w", kubernetes, err)
	}
	return parseRelease(strings.TrimSpace(text))
}

// parseRelease splits a version such as v1.37.2.
func parseRelease(version string) (release, error) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if !strings.HasPrefix(version, "v") || len(parts) != 3 || parts[0] == "" || parts[1] == "" {
		return release{}, fmt.Errorf("the version %q of %s is not of the form v1.2.3", version, kubernetes)
	}
	return release{git: version, major: parts[0], minor: parts[1]}, nil
}

// ldflags stamps the release into a binary. Without it the server calls itself
// v0.0.0-master+$Format:%H$, which neither kubectl nor Helm can parse.
func (r release) ldflags() string {
	const pkg = "k8s.io/component-base/version"
	return fmt.Sprintf("-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s", pkg, r.git, r.major, r.minor)
}
