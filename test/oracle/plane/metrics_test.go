package plane

import (
	"strings"
	"testing"
)

func TestReadWork(t *testing.T) {
	const empty = `# HELP workqueue_depth ...
workqueue_adds_total{name="garbage_collector_attempt_to_delete"} 17
workqueue_depth{name="garbage_collector_attempt_to_delete"} 0
workqueue_unfinished_work_seconds{name="garbage_collector_attempt_to_delete"} 0
workqueue_depth{name="namespace"} 0
workqueue_depth{name="serviceaccount"} 4
`
	for _, tc := range []struct {
		name, metrics string
		want          bool
	}{
		{"nothing is queued", empty, true},
		{"something is queued", strings.Replace(empty, "namespace\"} 0", "namespace\"} 1", 1), false},
		{"something is worked on", strings.Replace(empty, "_delete\"} 0\nworkqueue_depth", "_delete\"} 0.4\nworkqueue_depth", 1), false},
		{"there are no queues yet", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := readWork(strings.NewReader(tc.metrics))
			if err != nil || got.Idle != tc.want {
				t.Errorf("idle: %t, %v; want %t", got.Idle, err, tc.want)
			}
		})
	}
}

func TestReadWork_Retries(t *testing.T) {
	w, err := readWork(strings.NewReader(`
workqueue_retries_total{name="garbage_collector_attempt_to_delete"} 12
workqueue_retries_total{name="garbage_collector_attempt_to_orphan"} 3
workqueue_retries_total{name="serviceaccount"} 100
`))
	if err != nil || w.Retries != 15 {
		t.Errorf("%v retries, %v; want 15", w.Retries, err)
	}
}

func TestReadWork_NotANumber(t *testing.T) {
	if _, err := readWork(strings.NewReader("workqueue_depth{name=\"namespace\"} many\n")); err == nil {
		t.Error("no error")
	}
}
