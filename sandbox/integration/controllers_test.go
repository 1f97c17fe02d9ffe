package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}`
	dependent   = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dependent",
"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "%s"}]}}`
)

// TestUp_RunsTheRealControllers: what the tests of the product rely on.
func TestUp_RunsTheRealControllers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	policy := writeFile(t, filepath.Join(t.TempDir(), "policy"), auditPolicy)
	log := filepath.Join(t.TempDir(), "audit.log")
	s := start(t, dir, "up", "--audit-policy", policy, "--audit-log", log, "--apiserver-flag", "event-ttl=2h")

	t.Run("the garbage collector", func(t *testing.T) {
		s.mustKubectl("create", "configmap", "owner")
		uid := s.mustKubectl("get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}")
		manifest := writeFile(t, filepath.Join(t.TempDir(), "dependent"), fmt.Sprintf(dependent, uid))
		s.mustKubectl("create", "-f", manifest)
		s.mustKubectl("delete", "configmap", "owner")
		eventually(t, worldDeadline, "the dependent is collected", func() error {
			if _, err := s.kubectl("get", "configmap", "dependent"); err == nil {
				return errors.New("it is there")
			}
			return nil
		})
	})
	t.Run("the quota controller", func(t *testing.T) {
		s.mustKubectl("create", "quota", "limit", "--hard=configmaps=7")
		eventually(t, worldDeadline, "the quota is in force", func() error {
			out, err := s.kubectl("get", "quota", "limit", "-o", "jsonpath={.status.hard.configmaps}")
			if err == nil && out != "7" {
				err = fmt.Errorf("status.hard is %q", out)
			}
			return err
		})
	})
	t.Run("the namespace controller", func(t *testing.T) {
		s.mustKubectl("create", "namespace", "short")
		s.mustKubectl("delete", "namespace", "short", "--timeout=90s")
	})
	t.Run("the audit log", func(t *testing.T) {
		if text := readFile(t, log); !strings.Contains(text, `"username":"system:serviceaccount:kube-system:generic-garbage-collector"`) {
			t.Error("the audit log does not tell of the garbage collector")
		}
	})
}

// writeFile writes a file and returns its path.
func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
