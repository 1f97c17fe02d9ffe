package ownership_test

import (
	"go/build"
	"strings"
	"testing"
)

// TestImports: the library stays pure. Only its tests may use more.
func TestImports(t *testing.T) {
	for _, dir := range []string{".", "graph", "rules", "explain", "ownershiptest"} {
		p, err := build.ImportDir(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range p.Imports {
			first, _, _ := strings.Cut(path, "/")
			standard := !strings.Contains(first, ".")
			if !standard && !allowed(path) {
				t.Errorf("%s imports %s", dir, path)
			}
			if impure[path] && dir != "ownershiptest" {
				t.Errorf("%s imports %s: it has no clock, no log, no input", dir, path)
			}
		}
	}
}

func allowed(path string) bool {
	switch path {
	case "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/types", "k8s.io/apimachinery/pkg/runtime/schema":
		return true
	}
	return strings.HasPrefix(path, "labhub.io/teamspace/ownership/")
}

var impure = map[string]bool{"time": true, "log": true, "log/slog": true, "context": true, "os": true, "net": true, "net/http": true}
