package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"

	"labhub.io/teamspace/sandbox/process"
)

// Client commands the sandbox in a directory.
type Client struct {
	dir     string
	contact contact
}

// NotRunningError says that no sandbox takes commands in a directory.
type NotRunningError struct {
	Dir string
}

// Error names the directory and what to do.
func (e *NotRunningError) Error() string {
	return fmt.Sprintf("no sandbox is ready in %s: start one with `sandbox up --dir %s`, or wait for the file ready in it", e.Dir, e.Dir)
}

// Connect finds the sandbox in the directory.
func Connect(dir string) (*Client, error) {
	data, err := os.ReadFile(contactFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NotRunningError{Dir: dir}
	}
	if err != nil {
		return nil, fmt.Errorf("looking for the sandbox in %s: %w", dir, err)
	}
	c := &Client{dir: dir}
	if err := json.Unmarshal(data, &c.contact); err != nil {
		return nil, fmt.Errorf("looking for the sandbox in %s: decoding %s: %w", dir, contactFile(dir), err)
	}
	return c, nil
}

// Status tells what every program is doing.
func (c *Client) Status(ctx context.Context) ([]process.Status, error) {
	a, err := c.ask(ctx, http.MethodGet, "/status", nil)
	return a.Status, err
}

// Do returns when the command is carried out, with what there is to say.
func (c *Client) Do(ctx context.Context, command Command) (string, error) {
	a, err := c.ask(ctx, http.MethodPost, "/command", command)
	return a.Note, err
}

// ask sends a request and returns the answer, or what it says went wrong.
func (c *Client) ask(ctx context.Context, method, path string, body any) (answer, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return answer{}, fmt.Errorf("encoding a command: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+c.contact.Address+path, bytes.NewReader(data))
	if err != nil {
		return answer{}, fmt.Errorf("addressing the sandbox in %s: %w", c.dir, err)
	}
	request.Header.Set("Authorization", "Bearer "+c.contact.Token)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return answer{}, c.unanswered(ctx, err)
	}
	defer response.Body.Close()
	var a answer
	if err := json.NewDecoder(response.Body).Decode(&a); err != nil {
		return answer{}, c.unanswered(ctx, err)
	}
	if response.StatusCode == http.StatusUnauthorized {
		// Another sandbox got the port of one that was killed.
		return answer{}, &NotRunningError{Dir: c.dir}
	}
	if a.Error != "" {
		return answer{}, errors.New(a.Error)
	}
	return a, nil
}

// unanswered says why there is no answer: nobody is there, or is any more.
func (c *Client) unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("waiting for the sandbox in %s: %w", c.dir, ctx.Err())
	}
	if _, statErr := os.Stat(contactFile(c.dir)); statErr != nil {
		return fmt.Errorf("the sandbox in %s ended before it answered", c.dir)
	}
	return fmt.Errorf("%w (nobody answers at %s: %w)", &NotRunningError{Dir: c.dir}, c.contact.Address, err)
}
