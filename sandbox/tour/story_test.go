package tour

import (
	"slices"
	"strings"
	"testing"
)

// TestStory_CanBeTold: a mistake in the story would otherwise show only after a
// control plane has been started for it.
func TestStory_CanBeTold(t *testing.T) {
	programs := []string{"kubectl", "sandbox", "cat", "grep"}
	saved := map[string]bool{}
	for _, step := range Story(Settings{Dir: "/dir with blanks", Archive: "/archive", AuditLog: "/audit", Example: "example.yaml", Lab: "/lab"}) {
		if step.Title == "" || step.Why == "" || len(step.Commands) == 0 {
			t.Errorf("the step %q has no title, no reason or no command", step.Title)
		}
		for _, c := range step.Commands {
			words, err := split(c.Line)
			if err != nil {
				t.Errorf("%s: %v", c.Line, err)
				continue
			}
			if !slices.Contains(programs, words[0]) {
				t.Errorf("%s: there is no program %q", c.Line, words[0])
			}
			if c.Fails && len(c.Want) == 0 {
				t.Errorf("%s: has to fail, but not in a way that is told", c.Line)
			}
			for _, text := range append([]string{c.Line, c.Input, c.Differs}, c.Want...) {
				for _, match := range reference.FindAllStringSubmatch(text, -1) {
					if !saved[match[1]] {
						t.Errorf("%s: nothing is saved as %s before", c.Line, match[1])
					}
				}
			}
			if c.Save != "" {
				saved[c.Save] = true
			}
		}
	}
}

func TestQuote(t *testing.T) {
	for _, path := range []string{"/plain", "/with blanks in it"} {
		words, err := split("cat " + quote(path))
		if err != nil || len(words) != 2 || words[1] != path {
			t.Errorf("quote(%q) = %s, taken apart: %s, %v", path, quote(path), strings.Join(words, "|"), err)
		}
	}
}
