// Package terminal knows whether somebody is looking: progress and colour are for people
// only, and never part of what a program reads.
package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// Is reports whether a stream is a terminal.
func Is(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) //nolint:gosec // a descriptor is a small number
}

// Colours reports whether text on the stream may be coloured: only on a terminal, and not
// where somebody asked not to (https://no-color.org).
func Colours(stream any) bool {
	return Is(stream) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Progress tells on one line, which it writes over, how far something is. Where nobody
// looks it is silent. It may be used by several goroutines at once.
type Progress struct {
	mu    sync.Mutex
	out   io.Writer // nil: nobody looks
	shown bool
}

// NewProgress returns the progress that is told on a stream.
func NewProgress(out io.Writer) *Progress {
	if !Is(out) {
		return &Progress{}
	}
	return &Progress{out: out}
}

// Show replaces what was told before.
func (p *Progress) Show(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil {
		return
	}
	fmt.Fprintf(p.out, "\r\x1b[K"+format, args...)
	p.shown = true
}

// Done takes the line away, so that a report begins at the left. It may be called again.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}
