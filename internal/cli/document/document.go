// Package document prints what a subcommand has to say: as text for people, or as one
// document of JSON or YAML, with the same names in every subcommand, for programs.
package document

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// The formats that every subcommand has.
const (
	Text = "text"
	JSON = "json"
	YAML = "yaml"
)

// Format is the value of -o.
type Format struct {
	name    string
	allowed []string
}

// AddFlag adds -o to a subcommand, text by default, with the formats that only this
// subcommand has after the common ones.
func (f *Format) AddFlag(command *cobra.Command, more ...string) {
	f.name, f.allowed = Text, append([]string{Text, JSON, YAML}, more...)
	command.Flags().VarP(f, "output", "o", "Format of the output: "+strings.Join(f.allowed, ", ")+".")
	// An error here is a flag that does not exist, and it was added in the line before.
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(f.allowed, cobra.ShellCompDirectiveNoFileComp))
}

// Set implements pflag.Value.
func (f *Format) Set(name string) error {
	if !slices.Contains(f.allowed, name) {
		return fmt.Errorf("want one of %s", strings.Join(f.allowed, ", "))
	}
	f.name = name
	return nil
}

// String implements pflag.Value.
func (f *Format) String() string { return f.name }

// Type implements pflag.Value.
func (*Format) Type() string { return "format" }

// Write prints a document in a common format; in any other, and as text, it leaves the
// printing to text.
func (f *Format) Write(out io.Writer, document any, text func(io.Writer) error) error {
	var data []byte
	var err error
	switch f.name {
	case JSON:
		data, err = json.MarshalIndent(document, "", "  ")
		data = append(data, '\n')
	case YAML:
		data, err = yaml.Marshal(document)
	default:
		return text(out)
	}
	if err != nil {
		return fmt.Errorf("encoding the report as %s: %w", f.name, err)
	}
	_, err = out.Write(data)
	return err
}
