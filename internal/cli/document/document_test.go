package document

import (
	"bytes"
	"io"
	"testing"

	"github.com/spf13/cobra"
)

func TestFormat(t *testing.T) {
	report := map[string]any{"stuck": []string{"a"}}
	text := func(out io.Writer) error {
		_, err := io.WriteString(out, "printed\n")
		return err
	}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"text is the default":       {nil, "printed\n"},
		"text":                      {[]string{"-o", "text"}, "printed\n"},
		"json":                      {[]string{"-o", "json"}, "{\n  \"stuck\": [\n    \"a\"\n  ]\n}\n"},
		"yaml":                      {[]string{"--output=yaml"}, "stuck:\n- a\n"},
		"a format of its own":       {[]string{"-o", "dot"}, "printed\n"},
		"one that nobody has":       {[]string{"-o", "wide"}, ""},
		"one of another subcommand": {[]string{"-o", "jsonpath"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var format Format
			var out bytes.Buffer
			command := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
				return format.Write(&out, report, text)
			}}
			format.AddFlag(command, "dot")
			command.SetArgs(tc.args)
			err := command.ExecuteContext(t.Context())
			if (err != nil) != (tc.want == "") || out.String() != tc.want {
				t.Errorf("printed %q (%v), want %q", out.String(), err, tc.want)
			}
		})
	}
}
