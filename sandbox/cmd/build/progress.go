package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// How often the state of a step is shown: on a terminal, where one line is
// rewritten, and anywhere else, where each showing is a new line.
const (
	terminalInterval = 200 * time.Millisecond
	plainInterval    = 10 * time.Second
)

// progress tells how far the build is. The state is shown by the clock and not
// by what happens, so that a long compilation or link does not look like a
// build that hangs.
type progress struct {
	terminal bool
	now      func() time.Time

	mu         sync.Mutex
	w          io.Writer
	step       string
	state      string
	began      time.Time
	downloads  int
	drawnWidth int
}

// newProgress returns a progress that writes to f.
func newProgress(f *os.File) *progress {
	info, err := f.Stat()
	return &progress{
		w:        f,
		terminal: err == nil && info.Mode()&os.ModeCharDevice != 0,
		now:      time.Now,
	}
}

// run shows the state until the returned function is called.
func (p *progress) run() (stop func()) {
	interval := plainInterval
	if p.terminal {
		interval = terminalInterval
	}
	done := make(chan struct{})
	ticker := time.NewTicker(interval)
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.draw()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// begin names the step that the notes to come belong to.
func (p *progress) begin(step string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step, p.state, p.began, p.downloads = step, "", p.now(), 0
}

// note sets the state of the step.
func (p *progress) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = fmt.Sprintf(format, args...)
}

// draw shows the state of the step, if there is one.
func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == "" {
		return
	}
	text := p.step + ": " + p.state + ", " + roundSeconds(p.now().Sub(p.began))
	if !p.terminal {
		fmt.Fprintln(p.w, text)
		return
	}
	p.erase()
	fmt.Fprint(p.w, text)
	p.drawnWidth = len(text)
}

// end closes the step with the number of packages that it compiled. A step
// with nothing to do leaves no line.
func (p *progress) end(compiled int) {
	if compiled > 0 {
		p.line("%s: done, %d packages compiled in %s", p.step, compiled, roundSeconds(p.now().Sub(p.began)))
	}
	p.note("")
}

// line prints a line of its own.
func (p *progress) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// downloading takes a line of the go command that announces a download, and
// reports whether it was one. The first of a step is told at once: from then
// on the network decides how long it takes.
func (p *progress) downloading(line string) bool {
	module, ok := strings.CutPrefix(line, "go: downloading ")
	if !ok {
		return false
	}
	p.mu.Lock()
	p.downloads++
	n, step := p.downloads, p.step
	p.mu.Unlock()
	if n == 1 && !p.terminal {
		p.line("%s: downloading modules, the first is %s", step, module)
	}
	p.note("downloading modules, %d so far, now %s", n, module)
	return true
}

// erase removes the line that draw left on a terminal. The caller holds mu.
func (p *progress) erase() {
	if p.drawnWidth > 0 {
		fmt.Fprint(p.w, "\r"+strings.Repeat(" ", p.drawnWidth)+"\r")
		p.drawnWidth = 0
	}
}

// roundSeconds is a duration as a person would say it.
func roundSeconds(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
