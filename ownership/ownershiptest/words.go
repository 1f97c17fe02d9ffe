package ownershiptest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// words splits a line at blanks. Brackets and semicolons are words of their
// own, and a quoted string is one word.
func words(line string) ([]word, error) {
	var list []word
	for rest := strings.TrimLeft(line, " \t"); rest != ""; rest = strings.TrimLeft(rest, " \t") {
		w, after, err := nextWord(rest)
		if err != nil {
			return nil, err
		}
		list, rest = append(list, w), after
	}
	return list, nil
}

// word is one word; quoted text never counts as notation.
type word struct {
	text   string
	quoted bool
}

func (w word) is(text string) bool { return !w.quoted && w.text == text }

func nextWord(rest string) (w word, after string, err error) {
	if strings.IndexByte("[];", rest[0]) >= 0 {
		return word{text: rest[:1]}, rest[1:], nil
	}
	prefix := ""
	if rest[0] == '=' {
		prefix, rest = "=", rest[1:]
	}
	if strings.HasPrefix(rest, `"`) {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return word{}, "", fmt.Errorf("reading a quoted word in %s: %w", rest, err)
		}
		text, err := strconv.Unquote(quoted)
		if err != nil {
			return word{}, "", fmt.Errorf("reading %s: %w", quoted, err)
		}
		return word{text: prefix + text, quoted: prefix == ""}, rest[len(quoted):], nil
	}
	end := strings.IndexAny(rest, " \t[];")
	if end < 0 {
		end = len(rest)
	}
	return word{text: prefix + rest[:end]}, rest[end:], nil
}

// quote writes a word so that it is read back as it is.
func quote(text string) string {
	notation := slices.Contains([]string{"", "->", "dying", "marked", "type", "restart", "create", "delete"}, text)
	for _, r := range text {
		notation = notation || r <= ' ' || r > '~' || strings.ContainsRune(`[];"#`, r)
	}
	if notation || strings.IndexAny(text, "+-=") == 0 {
		return strconv.Quote(text)
	}
	return text
}
