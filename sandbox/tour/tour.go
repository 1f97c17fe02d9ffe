// Package tour shows what the product does by running commands against a real
// cluster, with their real output. What to show is data (see story.go); a tour
// succeeds only if every command did what the story says.
package tour

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// Step is one thing that is shown.
type Step struct {
	// Title says what happens, Why what it is good for.
	Title, Why string
	Commands   []Command
}

// Command is a program with what it is expected to do. In its words, its input
// and its expectations ${name} stands for what an earlier command has saved.
type Command struct {
	// Line is what is shown and run: words, separated by blanks; single quotes
	// keep blanks in a word.
	Line string
	// Input is fed to the program, and shown as a here-document.
	Input string
	// Fails tells that the program has to fail; otherwise it has to succeed.
	Fails bool
	// Want has to be in the output, all of it; Differs must not be the output.
	Want    []string
	Differs string
	// Until is how long the program is run again and again, in silence, until
	// all of that holds; 0 means that it has to hold at once.
	Until time.Duration
	// Save is the name that the output is saved under.
	Save string
}

// Guide runs steps.
type Guide struct {
	// Out is where everything is shown.
	Out io.Writer
	// Programs are the paths of what a line may begin with. Anything else is an
	// error in the story.
	Programs map[string]string
	// Env is the programs' environment.
	Env []string
	// Bold marks titles on a terminal.
	Bold bool

	saved map[string]string
}

const (
	// commandTimeout limits every single run of a program.
	commandTimeout = 60 * time.Second
	// retryInterval is the pause between two runs of the same program.
	retryInterval = 20 * time.Millisecond
)

// Run runs the steps, and stops at the first command that does something else
// than expected. The error names the step and the command.
func (g *Guide) Run(ctx context.Context, steps []Step) error {
	g.saved = map[string]string{}
	for i, step := range steps {
		title := fmt.Sprintf("%d. %s", i+1, step.Title)
		if g.Bold {
			title = "\x1b[1m" + title + "\x1b[0m"
		}
		g.say("\n%s\n   %s\n\n", title, strings.ReplaceAll(step.Why, "\n", "\n   "))
		for _, command := range step.Commands {
			if err := g.show(ctx, command); err != nil {
				return fmt.Errorf("step %d, %q: %w", i+1, step.Title, err)
			}
		}
	}
	return nil
}

// say prints.
func (g *Guide) say(format string, args ...any) { fmt.Fprintf(g.Out, format, args...) }

// show runs a command until it did what is expected, and prints it with its
// output.
func (g *Guide) show(ctx context.Context, c Command) error {
	line, err := g.fill(c.Line)
	if err != nil {
		return err
	}
	input, err := g.fill(c.Input)
	if err != nil {
		return err
	}
	g.say("   $ %s", line)
	if input != "" {
		g.say(" <<EOF\n%s   EOF", indent(input))
	}
	g.say("\n")
	began := time.Now()
	output, err := g.await(ctx, c, line, input)
	g.say("%s", indent(output))
	if err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	if c.Until > 0 {
		g.say("   (after %.2f s)\n", time.Since(began).Seconds())
	}
	if c.Save != "" {
		g.saved[c.Save] = strings.TrimSpace(output)
	}
	return nil
}

// await runs the program, again and again if the command says so, until it did
// what is expected. It returns the last output.
func (g *Guide) await(ctx context.Context, c Command, line, input string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, max(c.Until, commandTimeout))
	defer cancel()
	deadline := time.Now().Add(c.Until)
	for {
		output, runErr := g.run(ctx, line, input)
		err := g.judge(c, output, runErr)
		if err == nil {
			return output, nil
		}
		if ctx.Err() != nil {
			return output, fmt.Errorf("gave up: %w", context.Cause(ctx))
		}
		if time.Now().After(deadline) {
			return output, err
		}
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
		}
	}
}

// run runs the program once, and returns both outputs in one.
func (g *Guide) run(ctx context.Context, line, input string) (string, error) {
	words, err := split(line)
	if err != nil {
		return "", err
	}
	path, known := g.Programs[words[0]]
	if !known {
		return "", fmt.Errorf("the tour has no program %q", words[0])
	}
	cmd := exec.CommandContext(ctx, path, words[1:]...)
	cmd.Env = g.Env
	cmd.Stdin = strings.NewReader(input)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Second
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// judge returns an error unless the outcome is as expected.
func (g *Guide) judge(c Command, output string, runErr error) error {
	switch {
	case runErr != nil && !c.Fails:
		return fmt.Errorf("it failed: %w", runErr)
	case runErr == nil && c.Fails:
		return errors.New("it succeeded, but it should have been refused")
	}
	for _, text := range c.Want {
		want, err := g.fill(text)
		if err != nil {
			return err
		}
		if !strings.Contains(output, want) {
			return fmt.Errorf("the output lacks %q", want)
		}
	}
	if c.Differs == "" {
		return nil
	}
	differs, err := g.fill(c.Differs)
	if err != nil {
		return err
	}
	if strings.TrimSpace(output) == differs {
		return fmt.Errorf("the output is still %q", differs)
	}
	return nil
}

// reference is ${name}.
var reference = regexp.MustCompile(`\$\{(\w+)\}`)

// fill replaces references to what was saved.
func (g *Guide) fill(text string) (string, error) {
	var missing error
	filled := reference.ReplaceAllStringFunc(text, func(match string) string {
		name := reference.FindStringSubmatch(match)[1]
		value, ok := g.saved[name]
		if !ok {
			missing = fmt.Errorf("nothing was saved as %s", name)
		}
		return value
	})
	return filled, missing
}

// split returns the words of a line, of which there is at least one.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	quoted, some := false, false
	for _, r := range line {
		switch {
		case r == '\'':
			quoted, some = !quoted, true
		case r == ' ' && !quoted:
			if some {
				words = append(words, word.String())
			}
			word.Reset()
			some = false
		default:
			word.WriteRune(r)
			some = true
		}
	}
	if some {
		words = append(words, word.String())
	}
	if quoted || len(words) == 0 {
		return nil, fmt.Errorf("the line %q is no command", line)
	}
	return words, nil
}

// indent moves text to the right, and ends it with a line break.
func indent(text string) string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return ""
	}
	return "   " + strings.ReplaceAll(text, "\n", "\n   ") + "\n"
}
