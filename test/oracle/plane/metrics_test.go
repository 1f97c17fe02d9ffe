package plane

import (
	"errors"
	"strings"
	"testing"
)

func TestReadWork(t *testing.T) {
	const metrics = `# HELP workqueue_depth ...
workqueue_adds_total{name="garbage_collector_attempt_to_delete"} 17
workqueue_depth{name="garbage_collector_attempt_to_delete"} 3
workqueue_depth{name="garbage_collector_graph_changes"} 1
workqueue_unfinished_work_seconds{name="garbage_collector_attempt_to_delete"} 0.25
workqueue_depth{name="namespace"} 2
workqueue_depth{name="serviceaccount"} 40
`
	got, err := readWork(strings.NewReader(metrics))
	if want := (Work{Queued: 6, Unfinished: 0.25}); err != nil || got != want {
		t.Errorf("read %+v, %v; want %+v", got, err, want)
	}
}

func TestReadWork_BeforeTheControllersBegin(t *testing.T) {
	if _, err := readWork(strings.NewReader("go_goroutines 7\n")); !errors.Is(err, errNoQueues) {
		t.Errorf("got %v, want %v", err, errNoQueues)
	}
}

func TestReadWork_NotANumber(t *testing.T) {
	if _, err := readWork(strings.NewReader("workqueue_depth{name=\"namespace\"} many\n")); err == nil {
		t.Error("no error")
	}
}
