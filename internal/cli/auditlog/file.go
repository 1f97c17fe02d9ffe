package auditlog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// ErrNoLog is the error of a file that is something else.
var ErrNoLog = errors.New("not an audit log of Kubernetes (JSON lines)")

// Spool keeps a stream in a file, since a log is read more than once. Whoever calls removes
// the file.
func Spool(in io.Reader) (name string, err error) {
	file, err := os.CreateTemp("", "audit-*.log")
	if err != nil {
		return "", fmt.Errorf("keeping the audit log: %w", err)
	}
	_, err = io.Copy(file, in)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("keeping the audit log: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return file.Name(), nil
}

// contentOf reads a log, also one that the API server has compressed when it rotated it.
func contentOf(file io.Reader) (*bufio.Reader, error) {
	reader := bufio.NewReaderSize(file, buffer)
	if start, _ := reader.Peek(2); bytes.Equal(start, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(reader)
		if err != nil {
			return nil, err
		}
		reader = bufio.NewReaderSize(unpacked, buffer)
	}
	return reader, nil
}

// isEvent reports whether a line is that of an audit log.
func isEvent(line []byte) bool {
	var e struct {
		Kind       string `json:"kind"`
		APIVersion string `json:"apiVersion"`
	}
	return json.Unmarshal(line, &e) == nil && e.Kind == "Event" && (e.APIVersion == "" || strings.HasPrefix(e.APIVersion, "audit.k8s.io/"))
}
