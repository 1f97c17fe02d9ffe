package world

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Narrator tells a person what happens, a line at a time. It may be used by
// several goroutines at once if its writer may.
type Narrator struct {
	w io.Writer
}

// NewNarrator returns a Narrator that writes to w.
func NewNarrator(w io.Writer) Narrator { return Narrator{w: w} }

// Say writes one line, or several if the text has them.
func (n Narrator) Say(format string, args ...any) {
	// One call, so that lines of several goroutines do not mix. A reader that
	// has gone away is no reason to stop.
	_, _ = io.WriteString(n.w, "sandbox: "+strings.TrimRight(fmt.Sprintf(format, args...), "\n")+"\n")
}

// seconds is a duration as a person would say it.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
