// Package page reads tables out of the project's documentation, so that tests hold it to
// what it says.
package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"labhub.io/teamspace/test/program"
)

// Row is a row of a table, by the title of the column.
type Row map[string]string

// Read returns the text of a page of docs.
func Read(t testing.TB, name string) string {
	t.Helper()
	root, err := program.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Table returns the rows of the first table under a heading. Marks of emphasis and code
// are left out.
func Table(t testing.TB, name, heading string) []Row {
	t.Helper()
	_, section, found := strings.Cut(Read(t, name), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("docs/%s has no section %q", name, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var titles []string
	var rows []Row
	for line := range strings.Lines(section) {
		cells, ok := cellsOf(line)
		switch {
		case !ok && titles != nil:
			return rows
		case !ok || strings.HasPrefix(cells[0], "---"):
		case titles == nil:
			titles = cells
		case len(cells) != len(titles):
			t.Fatalf("docs/%s: the row has %d cells, want %d: %s", name, len(cells), len(titles), line)
		default:
			row := Row{}
			for i, title := range titles {
				row[title] = cells[i]
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("docs/%s has no table under %q", name, heading)
	}
	return rows
}

func cellsOf(line string) (cells []string, ok bool) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil, false
	}
	for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		cells = append(cells, strings.TrimSpace(strings.NewReplacer("**", "", "`", "").Replace(cell)))
	}
	return cells, true
}
