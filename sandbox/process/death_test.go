package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 999)+"\n", 100)
	for name, tc := range map[string]struct {
		text string
		skip int64
		want string
	}{
		"empty":                     {text: "", want: ""},
		"blank":                     {text: "\n\n", want: ""},
		"one line":                  {text: "one\n", want: "    one"},
		"no line break at the end":  {text: "one\ntwo", want: "    one\n    two"},
		"only what comes after":     {text: "one\ntwo\n", skip: 4, want: "    two"},
		"nothing comes after":       {text: "one\n", skip: 4, want: ""},
		"more than is ever read":    {text: long + "end\n", want: strings.Repeat("    "+strings.Repeat("x", 999)+"\n", 14) + "    end"},
		"a log that was cut off":    {text: "one\n", skip: 1000, want: ""},
		"more lines than are shown": {text: strings.Repeat("a\n", 3) + strings.Repeat("b\n", 15), want: strings.TrimSuffix(strings.Repeat("    b\n", 15), "\n")},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := tail(path, tc.skip); got != tc.want {
			t.Errorf("%s: tail() = %q, want %q", name, got, tc.want)
		}
	}
	if got := Tail("/absent"); got != "" {
		t.Errorf("Tail() of no file = %q", got)
	}
}

func TestDeathError_NamesTheLog(t *testing.T) {
	for tail, want := range map[string]string{
		"":        "etcd ended unexpectedly (exit status 1); its log /log is empty",
		"    end": "etcd ended unexpectedly (exit status 1); the end of /log:\n    end",
	} {
		err := &DeathError{Name: "etcd", Outcome: "exit status 1", Log: "/log", Tail: tail}
		if got := err.Error(); got != want {
			t.Errorf("Error() = %q, want %q", got, want)
		}
	}
}
