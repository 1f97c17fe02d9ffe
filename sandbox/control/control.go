// Package control lets other processes command a running sandbox: over HTTP on
// loopback, with a token that only those can read who may read its directory.
// A Unix socket would need neither, but its path may hold 107 bytes only, which
// temporary directories exceed.
package control

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"labhub.io/teamspace/sandbox/process"
)

// Action is what can be done to a component.
type Action string

// The actions.
const (
	Stop    Action = "stop"
	Start   Action = "start"
	Restart Action = "restart"
)

// Command asks for an action.
type Command struct {
	Action    Action `json:"action"`
	Component string `json:"component"`
	// Kill skips the time for a clean end.
	Kill bool `json:"kill,omitempty"`
}

// Commanded is what the endpoint gives access to.
type Commanded interface {
	// Status tells what every program is doing.
	Status() []process.Status
	// Do returns when the command is carried out, with what there is to say.
	Do(context.Context, Command) (string, error)
}

// UnknownComponentError says that there is no component of that name.
type UnknownComponentError struct {
	Name  string
	Known []string
}

// Error names those that there are.
func (e *UnknownComponentError) Error() string {
	return fmt.Sprintf("there is no component %q; there are: %s", e.Name, strings.Join(e.Known, ", "))
}

// contact is what the file in the directory tells a client.
type contact struct {
	Address string `json:"address"`
	Token   string `json:"token"`
	PID     int    `json:"pid"`
}

// answer is the body of every response.
type answer struct {
	Note   string           `json:"note,omitempty"`
	Error  string           `json:"error,omitempty"`
	Status []process.Status `json:"status,omitempty"`
}

// contactFile is where the contact is.
func contactFile(dir string) string { return filepath.Join(dir, "control.json") }
