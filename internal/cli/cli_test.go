package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"labhub.io/teamspace/internal/cli/exit"
)

func TestRun(t *testing.T) {
	for name, tc := range map[string]struct {
		args     []string
		status   int
		out, err string // what the stream must hold; "" is nothing
	}{
		"no subcommand is help":       {nil, exit.Clean, "Usage:\n  kubectl teamspace", ""},
		"version":                     {[]string{"version"}, exit.Clean, "kubectl-teamspace ", ""},
		"a subcommand that is none":   {[]string{"strip-finalizers"}, exit.CouldNotTell, "", `error: unknown command "strip-finalizers"`},
		"a letter is wrong":           {[]string{"audti"}, exit.CouldNotTell, "", `"audti" for "kubectl teamspace"; did you mean audit?`},
		"a letter is wrong below":     {[]string{"archive", "lst"}, exit.CouldNotTell, "", `"lst" for "kubectl teamspace archive"; did you mean list?`},
		"below it the help, too":      {[]string{"archive"}, exit.Clean, "kubectl teamspace archive [command]", ""},
		"audit has no arguments":      {[]string{"audit", "foo"}, exit.CouldNotTell, "", `error: audit takes no arguments, and "foo" is one: use -n and -l`},
		"check has no arguments":      {[]string{"check", "m/good.yaml"}, exit.CouldNotTell, "", `error: check takes no arguments, and "m/good.yaml" is one: use -f`},
		"completion of no such shell": {[]string{"completion", "tcsh"}, exit.CouldNotTell, "", `unknown command "tcsh" for "kubectl teamspace completion"`},
		"the shells that there are":   {[]string{"completion"}, exit.Clean, "zsh", ""},
		"a flag that is none":         {[]string{"version", "--force"}, exit.CouldNotTell, "", "error: unknown flag: --force"},
		"completion of every shell":   {[]string{"completion", "bash"}, exit.Clean, "bash completion", ""},
		"too many words are an error": {[]string{"version", "now"}, exit.CouldNotTell, "", "error: unknown command"},
	} {
		t.Run(name, func(t *testing.T) {
			streams, _, out, errOut := genericiooptions.NewTestIOStreams()
			if status := Run(t.Context(), tc.args, streams); status != tc.status {
				t.Errorf("status %d, want %d", status, tc.status)
			}
			for _, stream := range []struct{ got, want string }{{out.String(), tc.out}, {errOut.String(), tc.err}} {
				if !strings.Contains(stream.got, stream.want) || (stream.got == "") != (stream.want == "") {
					t.Errorf("printed %q, want %q", stream.got, stream.want)
				}
			}
		})
	}
}

// TestHelp: every subcommand says in one line what it does, and shows how by example.
func TestHelp(t *testing.T) {
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	var visit func(*cobra.Command)
	visit = func(command *cobra.Command) {
		for _, sub := range command.Commands() {
			if sub.Name() == "version" || sub.Name() == "help" || sub.Name() == "completion" {
				continue
			}
			if sub.Short == "" || sub.Runnable() && (sub.Long == "" || sub.Example == "") {
				t.Errorf("%s lacks a short text, a long one or an example", sub.CommandPath())
			}
			visit(sub)
		}
	}
	visit(New(streams))
}
