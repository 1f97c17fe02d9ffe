package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const shippedModule = "labhub.io/teamspace"

// Root looks upwards for the folder of the shipped module.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; !isRoot(dir); dir = filepath.Dir(dir) {
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no folder above this one has the go.mod of %s", shippedModule)
		}
	}
	return dir, nil
}

func isRoot(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) == "module "+shippedModule {
			return true
		}
	}
	return false
}

// Find returns the path of a program in the folder bin of the root.
func Find(root, name string) (string, error) {
	path := filepath.Join(root, "bin", name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("a program is missing: run `make build sandbox` first: %w", err)
	}
	return path, nil
}
