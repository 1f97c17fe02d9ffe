package world

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"labhub.io/teamspace/test/program"
)

// WithoutManager is the Shared.Prepare of tests that run managers of their own.
func WithoutManager(ctx context.Context, w *World) error { return w.StopForGood(ctx, Manager) }

// RunManager runs a manager that serves TeamSpaces in the place of the world's own, which
// has to be stopped, and that takes an URL for the API server. It is the same user with
// the same archive; it needs no lease, so that it works at once. It ends with the test.
func (w *World) RunManager(t testing.TB, url string, ca []byte) *program.Program {
	t.Helper()
	config, err := clientcmd.LoadFromFile(filepath.Join(w.Dir, "teamspace-controller.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = url
		cluster.CertificateAuthority, cluster.CertificateAuthorityData = "", ca
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	archive := "configmap://" + ArchiveNamespace
	if w.ArchiveDir != "" {
		archive = "file://" + w.ArchiveDir
	}
	p, err := program.Run(w.Binary("manager"), "run", "--controllers", "--leader-elect=false",
		"--kubeconfig="+kubeconfig, "--release-namespace="+ReleaseNamespace, "--archive="+archive,
		"--metrics-bind-address=0", "--health-probe-bind-address=0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// LogIfFailed puts the end of what a manager logged into the log of a test that fails.
func LogIfFailed(t testing.TB, p *program.Program) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		lines := strings.Split(strings.TrimSpace(p.Output()), "\n")
		t.Logf("the manager of the test logged:\n%s", strings.Join(lines[max(0, len(lines)-reportLimit):], "\n"))
	})
}

// Records are the uids of all TeamSpaces that the directory of the archive tells of.
func (w *World) Records(t testing.TB) map[string]bool {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(w.ArchiveDir, "by-uid"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	uids := map[string]bool{}
	for _, file := range files {
		uids[strings.TrimSuffix(file.Name(), ".json")] = true
	}
	return uids
}

// KubeconfigAs writes a kubeconfig for a program that is to be this account, with the
// permissions that it has and no others.
func (w *World) KubeconfigAs(t testing.TB, user string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(w.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range config.AuthInfos {
		info.Impersonate = user
		info.ImpersonateGroups = []string{"system:serviceaccounts", "system:serviceaccounts:" + ReleaseNamespace, "system:authenticated"}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Kubeconfig is that of the administrator.
func (w *World) Kubeconfig() string { return filepath.Join(w.Dir, "kubeconfig") }
