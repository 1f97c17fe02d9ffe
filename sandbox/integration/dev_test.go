package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"labhub.io/teamspace/sandbox/process"
)

// managerStopDeadline is what the sandbox promises for the manager alone.
const managerStopDeadline = 5 * time.Second

// The processes of the manager: one for each Deployment of the chart.
const (
	controllerProcess = "manager/teamspace-controller"
	webhookProcess    = "manager/teamspace-webhook"
)

// productArgs are the flags of a command that runs the product, with the chart
// and the manager of this tree.
func productArgs(t *testing.T, more ...string) []string {
	t.Helper()
	return append([]string{"--chart", filepath.Join("..", "..", "charts", "teamspace"), "--manager", binary(t, "manager")}, more...)
}

// apply applies a TeamSpace.
func (s *sandbox) apply(name string, pods int) {
	s.t.Helper()
	text := fmt.Sprintf("apiVersion: platform.labhub.io/v1alpha1\nkind: TeamSpace\nmetadata: {name: %s}\nspec: {pods: %d}\n", name, pods)
	s.mustKubectl("apply", "-f", writeFile(s.t, filepath.Join(s.t.TempDir(), name), text))
}

// awaitServed waits until the TeamSpace is Ready.
func (s *sandbox) awaitServed(name string) {
	s.t.Helper()
	s.mustKubectl("wait", "--for=condition=Ready", "teamspace/"+name, "--timeout=60s")
}

// TestDev is one story as well: the product is served, its manager stopped,
// started and killed, and all of it ended in two ways.
func TestDev(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive := filepath.Join(t.TempDir(), "made", "by the sandbox")
	args := productArgs(t, "--archive", "file://"+archive)
	s := start(t, dir, "dev", args...)

	t.Run("a TeamSpace is served as soon as the sandbox is ready", func(t *testing.T) {
		s.apply("first", 3)
		s.awaitServed("first")
	})
	t.Run("the manager is no administrator", func(t *testing.T) {
		configs, err := filepath.Glob(filepath.Join(dir, "*.kubeconfig"))
		if err != nil || len(configs) != 2 {
			t.Fatalf("kubeconfigs of managers: %v, %v, want two", configs, err)
		}
		for _, config := range configs {
			stdout, _, err := run(t, binary(t, "kubectl"), "auth", "can-i", "*", "*", "--kubeconfig", config)
			if strings.TrimSpace(stdout) != "no" {
				t.Errorf("%s: can-i * * = %q, %v, want no", filepath.Base(config), stdout, err)
			}
		}
	})
	t.Run("its addresses are known", func(t *testing.T) {
		addresses := s.status()[controllerProcess].Addresses
		if addresses["health"] == "" || addresses["metrics"] == "" {
			t.Errorf("addresses = %v, want those of health and metrics", addresses)
		}
	})
	t.Run("the manager stops and starts", func(t *testing.T) { testManagerAway(t, s) })
	t.Run("the manager dies and comes back", func(t *testing.T) { testManagerDeath(t, s) })
	t.Run("the archive is used", func(t *testing.T) {
		s.mustKubectl("delete", "teamspace", "first", "--timeout=60s")
		if _, err := os.Stat(filepath.Join(archive, "first.json")); err != nil {
			t.Error(err)
		}
	})

	pids := s.pids()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.awaitEnd()
	awaitGone(t, pids)

	s = start(t, dir, "dev", args...)
	s.apply("second", 3)
	s.awaitServed("second")
	pids = s.pids()
	s.signal(syscall.SIGTERM)
	if code := s.awaitEnd(); code != 0 {
		t.Errorf("exit code after SIGTERM = %d, want 0", code)
	}
	awaitGone(t, pids)
}

// testManagerAway changes a TeamSpace while the manager is stopped.
func testManagerAway(t *testing.T, s *sandbox) {
	pids := []int{s.status()[controllerProcess].PID, s.status()[webhookProcess].PID}
	began := time.Now()
	s.mustRun("stop", "manager")
	if took := time.Since(began); took > managerStopDeadline {
		t.Errorf("stop took %s, want at most %s", took, managerStopDeadline)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Error("the manager runs after its stop")
		}
	}
	s.apply("first", 4)
	s.mustRun("start", "manager")
	eventually(t, worldDeadline, "the change is caught up", func() error {
		out, err := s.kubectl("get", "quota", "team-quota", "-n", "team-first", "-o", "jsonpath={.spec.hard.pods}")
		if err == nil && out != "4" {
			err = fmt.Errorf("the quota has %s pods", out)
		}
		return err
	})
}

// testManagerDeath kills the manager behind the sandbox's back.
func testManagerDeath(t *testing.T, s *sandbox) {
	if err := syscall.Kill(s.status()[controllerProcess].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, worldDeadline, "the manager leads again", func() error {
		if status := s.status()[controllerProcess]; status.State != process.Running || status.Restarts != 1 {
			return fmt.Errorf("it is %+v", status)
		}
		return nil
	})
	for _, want := range []string{controllerProcess + " ended unexpectedly (signal: killed)", controllerProcess + " is started again in 1s"} {
		if !strings.Contains(s.stderr.String(), want) {
			t.Errorf("the sandbox does not say %q:\n%s", want, s.stderr)
		}
	}
}

func TestDev_Errors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"the manager is absent": {args: []string{"--chart", ".", "--manager", "/absent/manager"}, want: "make build"},
		"the chart is absent":   {args: productArgs(t, "--chart", "/absent/chart"), want: "/absent/chart"},
		"a value is unknown":    {args: productArgs(t, "--set", "unknown=1"), want: "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			_, stderr, err := run(t, binary(t, "sandbox"), append([]string{"dev", "--dir", t.TempDir()}, tc.args...)...)
			if exitCode(err) != 1 || !strings.Contains(stderr, tc.want) {
				t.Errorf("%v, want exit code 1 and %q:\n%s", err, tc.want, stderr)
			}
		})
	}
}

// TestTour is what `make demo` runs.
func TestTour(t *testing.T) {
	example := writeFile(t, filepath.Join(t.TempDir(), "alpha.yaml"),
		"apiVersion: platform.labhub.io/v1alpha1\nkind: TeamSpace\nmetadata:\n  name: alpha\nspec:\n  pods: 5\n  cpu: \"1\"\n")
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	stdout, stderr, err := run(t, binary(t, "sandbox"), append([]string{"tour", "--example", example, "--lab", filepath.Join("..", "..", "examples", "ownership-lab")}, productArgs(t)...)...)
	if err != nil || !strings.Contains(stdout, "All of it happened as told.") {
		t.Errorf("tour: %v\n%s\n%s", err, stdout, stderr)
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) != 0 {
		t.Errorf("the tour has left %v (%v)", left, err)
	}
}
