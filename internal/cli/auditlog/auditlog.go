// Package auditlog finds in the API server's audit log who deleted something that is gone,
// and, where that was the garbage collector, which reference made it do so. A log may be
// larger than memory: it is read in passes, and only what matters is kept.
package auditlog

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Subject is what was deleted.
type Subject struct {
	Group     string
	Resource  string // "" if only the kind is known
	Kind      string
	Namespace string
	Name      string

	// unscoped says that it may as well be in no namespace, as an owner of which only the
	// kind is known.
	unscoped bool
}

// is reports whether a request is about the subject itself.
func (s Subject) is(o object) bool {
	return o.Name == s.Name && s.isIn(o) && o.Group == s.Group && s.names(o.Resource)
}

// isIn: requests for a Namespace carry its own name as namespace.
func (s Subject) isIn(o object) bool {
	if o.Resource == "namespaces" && o.Group == "" && o.Namespace != "" {
		return o.Namespace == s.Name
	}
	return o.Namespace == s.Namespace || s.unscoped && o.Namespace == ""
}

// names reports whether a resource is that of the subject; of a kind alone it is guessed as
// the API's conventions have it.
func (s Subject) names(resource string) bool {
	if s.Resource != "" {
		return resource == s.Resource
	}
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: s.Group, Kind: s.Kind})
	return resource == plural.Resource
}

// Request is something that somebody asked the API server for.
type Request struct {
	Time  time.Time `json:"time"`
	User  string    `json:"user"`
	Agent string    `json:"userAgent,omitempty"`
}

func requestOf(e *event) Request { return Request{Time: e.Time, User: e.user(), Agent: e.Agent} }

// Reference is an owner reference that the subject had.
type Reference struct {
	metav1.OwnerReference `json:",inline"`

	// Written is the first request in the log after which it was there; nil if the log does
	// not hold it.
	Written *Request `json:"written,omitempty"`

	// Look is what the collector found when it looked for the owner to decide on the deletion;
	// nil if the log does not hold it, or if the collector had seen the owner go.
	Look *Look `json:"look,omitempty"`

	// Deleted is how the owner was deleted before, if it was.
	Deleted *Deletion `json:"deleted,omitempty"`
}

// Look is a GET of an owner by the collector.
type Look struct {
	Time      time.Time `json:"time"`
	Group     string    `json:"group,omitempty"`
	Resource  string    `json:"resource"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	Code      int       `json:"code"`
	// UID is that of what it found, if the log holds answers.
	UID string `json:"uid,omitempty"`
	// Deleting says that what it found was being deleted, Waiting that this was in the
	// foreground.
	Deleting bool `json:"deleting,omitempty"`
	Waiting  bool `json:"waiting,omitempty"`
}

func (l *Look) object() object {
	return object{Group: l.Group, Resource: l.Resource, Namespace: l.Namespace, Name: l.Name}
}

// absent reports whether the look has shown that there is no object with the uid.
func (l *Look) absent(uid types.UID) bool {
	return l.Code == http.StatusNotFound || l.Code == http.StatusOK && l.UID != "" && l.UID != string(uid)
}

// Deletion is how the subject was deleted.
type Deletion struct {
	Request

	// Verb is delete or deletecollection.
	Verb string `json:"verb"`
	// Presumed says that many were deleted, and nothing in the log says that the subject was
	// one of them; Selective that only those were which a selector chose.
	Presumed  bool                       `json:"presumed,omitempty"`
	Selective bool                       `json:"selective,omitempty"`
	Policy    metav1.DeletionPropagation `json:"propagationPolicy,omitempty"`
	Collector bool                       `json:"collector"`

	// Known says that the log holds the metadata of the subject, so that References are all
	// that it had.
	Known      bool        `json:"referencesKnown"`
	References []Reference `json:"references,omitempty"`

	// Namespace is how the namespace was deleted that the subject was in, where it went with
	// that; nil if the log does not hold it.
	Namespace *Deletion `json:"namespaceDeletion,omitempty"`

	// Looks are what the collector looked for right before, where the references themselves
	// are not known.
	Looks []Look `json:"looks,omitempty"`
}

// Log is an audit log in one or more files, the oldest first.
type Log struct {
	files []string
}

// New returns the log in the files.
func New(files []string) *Log { return &Log{files: files} }

// each calls back for the events of the lines that match, in the order of the log. A line
// that is cut off at the end is still being written.
func (l *Log) each(ctx context.Context, matches func(line []byte) bool, do func(*event)) error {
	for _, name := range l.files {
		file, err := os.Open(name) //nolint:gosec // a file that the person who runs this has named
		if err != nil {
			return fmt.Errorf("reading the audit log: %w", err)
		}
		err = eachLine(ctx, file, matches, do)
		_ = file.Close() // it was read only
		if err != nil {
			return fmt.Errorf("reading the audit log %s: %w", name, err)
		}
	}
	return nil
}

// buffer holds most lines whole.
const buffer = 1 << 20

func eachLine(ctx context.Context, in io.Reader, matches func(line []byte) bool, do func(*event)) error {
	reader, err := contentOf(in)
	if err != nil {
		return err
	}
	for number := 1; ; number++ {
		line, err := readLine(reader)
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return err
		}
		if err := seeLine(line, number, last, matches, do); err != nil {
			return err
		}
		if last {
			return nil
		}
		if number%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func seeLine(line []byte, number int, last bool, matches func(line []byte) bool, do func(*event)) error {
	cutOff := last && bytes.HasPrefix(line, []byte("{"))
	if number == 1 && len(line) > 0 && !isEvent(line) && !cutOff {
		return ErrNoLog
	}
	if !matches(line) {
		return nil
	}
	var e event
	err := json.Unmarshal(line, &e)
	switch {
	case err == nil:
		e.complete()
		do(&e)
		return nil
	case last:
		return nil
	default:
		return fmt.Errorf("line %d is no audit event: %w", number, err)
	}
}

// readLine reads a line, which is valid until the next call unless it is longer than the
// buffer.
func readLine(reader *bufio.Reader) ([]byte, error) {
	line, err := reader.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	long := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = reader.ReadSlice('\n')
		long = append(long, line...)
	}
	return long, err
}
