package chart

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"labhub.io/teamspace/test/helm"
	"labhub.io/teamspace/test/program"
)

type alert struct {
	Alert, Expr string
	Labels      map[string]string
	Annotations map[string]string
}

func alerts(t *testing.T) []alert {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(helm.Chart(t), "files", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []alert
	if err := yaml.Unmarshal(text, &all); err != nil || len(all) == 0 {
		t.Fatalf("reading the alerts: %d, %v", len(all), err)
	}
	return all
}

// TestAlerts_Runbooks: each alert has a runbook, and no runbook is left without its alert.
func TestAlerts_Runbooks(t *testing.T) {
	folder := filepath.Join(helm.Chart(t), "..", "..", "docs", "runbooks")
	known := map[string]bool{}
	for _, a := range alerts(t) {
		known[a.Alert+".md"] = true
		if text, err := os.ReadFile(filepath.Join(folder, a.Alert+".md")); err != nil || !strings.HasPrefix(string(text), "# "+a.Alert+"\n") {
			t.Errorf("the runbook of %s: %v", a.Alert, err)
		}
		if a.Labels["severity"] == "" || a.Annotations["summary"] == "" {
			t.Errorf("%s has no severity or no summary", a.Alert)
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !known[file.Name()] {
			t.Errorf("the runbook %s belongs to no alert", file.Name())
		}
	}
}

var ours = regexp.MustCompile(`\bteamspace_[a-z_]+`)

// TestAlerts_Metrics: alerts and dashboard ask for metrics that there are. Nobody would
// notice: an alert on a name that nobody exports is never raised.
func TestAlerts_Metrics(t *testing.T) {
	exported := exportedMetrics(t)
	check := func(where, expr string) {
		for _, name := range ours.FindAllString(expr, -1) {
			if !exported[strings.TrimSuffix(name, "_bucket")] {
				t.Errorf("%s asks for %s, which nobody exports", where, name)
			}
		}
	}
	for _, a := range alerts(t) {
		if !ours.MatchString(a.Expr) && a.Alert != "TeamSpaceFailedOpen" {
			t.Errorf("%s asks for no metric of ours: %s", a.Alert, a.Expr)
		}
		check(a.Alert, a.Expr)
	}
	for title, exprs := range panels(t) {
		for _, expr := range exprs {
			check("panel "+title, expr)
		}
	}
}

// exportedMetrics are the names in the source of the manager.
func exportedMetrics(t *testing.T) map[string]bool {
	t.Helper()
	root, err := program.Root()
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile(`"(teamspace_[a-z_]+)"`)
	names := map[string]bool{}
	for _, folder := range []string{"controllers", "webhooks", "certs"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Base(path) != "metrics.go" {
				return err
			}
			text, err := os.ReadFile(path)
			for _, found := range quoted.FindAllStringSubmatch(string(text), -1) {
				names[found[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(names) < 10 {
		t.Fatalf("the manager exports %v", names)
	}
	return names
}

func panels(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(helm.Chart(t), "files", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			all[panel.Title] = append(all[panel.Title], target.Expr)
		}
	}
	if len(all) < 10 {
		t.Fatalf("the dashboard has %d panels", len(all))
	}
	return all
}
