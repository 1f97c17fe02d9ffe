package tour

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// guide returns a Guide with a few programs of the system.
func guide(out *strings.Builder) *Guide {
	return &Guide{
		Out:      out,
		Programs: map[string]string{"cat": "/bin/cat", "echo": "/bin/echo", "false": "/bin/false", "sh": "/bin/sh"},
		Env:      os.Environ(),
	}
}

func TestGuide_ShowsWhatHappens(t *testing.T) {
	var out strings.Builder
	err := guide(&out).Run(t.Context(), []Step{
		{Title: "First", Why: "because\nso", Commands: []Command{
			{Line: "echo 'two  words' and 'more'", Want: []string{"two  words and more"}, Save: "said"},
			{Line: "cat", Input: "line 1\nline 2\n"},
		}},
		{Title: "Second", Why: "it is refused", Commands: []Command{
			{Line: `sh -c 'echo "${said}" >&2; exit 3'`, Fails: true, Want: []string{"${said}"}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `
1. First
   because
   so

   $ echo 'two  words' and 'more'
   two  words and more
   $ cat <<EOF
   line 1
   line 2
   EOF
   line 1
   line 2

2. Second
   it is refused

   $ sh -c 'echo "two  words and more" >&2; exit 3'
   two  words and more
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestGuide_StopsAtWhatIsNotAsTold(t *testing.T) {
	for name, tc := range map[string]struct {
		command Command
		want    string
	}{
		"it fails":                       {command: Command{Line: "false"}, want: "it failed"},
		"it succeeds":                    {command: Command{Line: "echo x", Fails: true}, want: "it succeeded"},
		"the output lacks something":     {command: Command{Line: "echo x", Want: []string{"x", "y"}}, want: `lacks "y"`},
		"the output has not changed":     {command: Command{Line: "echo x", Differs: "x", Until: time.Millisecond}, want: `still "x"`},
		"an unknown program":             {command: Command{Line: "rm -rf /"}, want: `no program "rm"`},
		"something that was never saved": {command: Command{Line: "echo ${never}"}, want: "never"},
		"an open quote":                  {command: Command{Line: "echo 'x"}, want: "no command"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			steps := []Step{{Title: "Step", Commands: []Command{tc.command, {Line: "echo not reached"}}}}
			err := guide(&out).Run(t.Context(), steps)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), `step 1, "Step"`) {
				t.Errorf("Run() = %v, want an error with the step and %q", err, tc.want)
			}
			if strings.Contains(out.String(), "not reached") {
				t.Error("the tour went on")
			}
		})
	}
}

func TestGuide_RepeatsUntilItHolds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "count")
	var out strings.Builder
	err := guide(&out).Run(t.Context(), []Step{{Title: "Step", Commands: []Command{
		{Line: "sh -c 'echo x >>" + file + "; wc -l <" + file + "'", Want: []string{"3"}, Until: 30 * time.Second},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "$ sh"); got != 1 {
		t.Errorf("the command is shown %d times, want once:\n%s", got, out.String())
	}
}

func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		"a":                {"a"},
		" a  b ":           {"a", "b"},
		"a 'b c' d":        {"a", "b c", "d"},
		"a -o='b c'd":      {"a", "-o=b cd"},
		"a ''":             {"a", ""},
		`a '{"x": "y z"}'`: {"a", `{"x": "y z"}`},
	} {
		got, err := split(line)
		if err != nil {
			t.Errorf("split(%q): %v", line, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("split(%q) (-want +got):\n%s", line, diff)
		}
	}
}
