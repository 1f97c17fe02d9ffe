package world

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// controllerProcess is what the sandbox calls the process of the controllers.
const controllerProcess = "manager/teamspace-controller"

// Metric scrapes the controllers and returns the value of a metric that has no labels.
func (w *World) Metric(t testing.TB, name string) float64 {
	t.Helper()
	response, err := http.Get("http://" + w.metricsAddress(t) + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				t.Fatal(err)
			}
			return value
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// metricsAddress is read off the status of the sandbox.
func (w *World) metricsAddress(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), w.Binary("sandbox"), "status", "--dir="+w.Dir, "-o", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var processes []struct {
		Name      string
		Addresses map[string]string
	}
	if err := json.Unmarshal(out, &processes); err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		if process.Name == controllerProcess {
			return process.Addresses["metrics"]
		}
	}
	t.Fatalf("the sandbox runs no %s:\n%s", controllerProcess, out)
	return ""
}
