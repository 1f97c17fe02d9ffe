package process

import (
	"bytes"
	"fmt"
	"os"
)

// zombie reports whether a process is dead and only waited for. A container
// without a reaper keeps orphans in that state for ever.
func zombie(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, ok := bytes.Cut(data, []byte(") "))
	return ok && len(rest) > 0 && rest[0] == 'Z'
}
