// Package directory is the folder that a sandbox lives in: who holds it, where
// things are in it, and the marks that others wait for.
package directory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Directory is a folder that this process alone runs a sandbox in.
type Directory struct {
	path string
	lock *os.File
}

// InUseError says that another sandbox holds the folder.
type InUseError struct {
	Path string
	// PID is the other's process id, 0 if it has not said it yet.
	PID int
}

// Error names the folder, the process, and what to do.
func (e *InUseError) Error() string {
	owner := "another sandbox"
	if e.PID > 0 {
		owner += fmt.Sprintf(" (process %d)", e.PID)
	}
	return fmt.Sprintf("the directory %s is in use by %s: stop that one first, or take another directory", e.Path, owner)
}

// Acquire makes the folder if need be and takes hold of it. The hold ends with
// Release, or with this process.
func Acquire(path string) (*Directory, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("finding the directory %q: %w", path, err)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		if errors.Is(err, syscall.ENOTDIR) {
			return nil, fmt.Errorf("making the directory %s: it is a file, or lies below one", path)
		}
		return nil, fmt.Errorf("making the directory of the sandbox: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("taking hold of the directory %s: %w", path, err)
	}
	d := &Directory{path: path, lock: lock}
	if err := d.hold(); err != nil {
		d.Release()
		return nil, err
	}
	return d, nil
}

// hold locks the folder, removes a stale mark, and says who is here.
func (d *Directory) hold() error {
	err := syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		data, _ := io.ReadAll(io.LimitReader(d.lock, 32))
		pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
		return &InUseError{Path: d.path, PID: pid}
	}
	if err != nil {
		return fmt.Errorf("locking the directory %s: %w", d.path, err)
	}
	if err := d.ClearReady(); err != nil {
		return err
	}
	if err := d.lock.Truncate(0); err != nil {
		return fmt.Errorf("writing the process id into the directory %s: %w", d.path, err)
	}
	if _, err := d.lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return fmt.Errorf("writing the process id into the directory %s: %w", d.path, err)
	}
	return nil
}

// Release lets others have the folder. The file stays: removing it would let
// two others lock two different ones.
func (d *Directory) Release() {
	_ = d.lock.Close() // it is closed, and with that unlocked, whatever is said
}

// Path returns the path of something in the folder.
func (d *Directory) Path(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

// Kubeconfig is the administrator's kubeconfig.
func (d *Directory) Kubeconfig() string { return d.Path("kubeconfig") }

// MarkReady tells those who wait that the sandbox serves.
func (d *Directory) MarkReady() error {
	if err := os.WriteFile(d.Path("ready"), nil, 0o644); err != nil {
		return fmt.Errorf("marking the sandbox ready: %w", err)
	}
	return nil
}

// ClearReady takes the mark back.
func (d *Directory) ClearReady() error {
	if err := os.Remove(d.Path("ready")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the ready mark: %w", err)
	}
	return nil
}

// Log returns the path of the log of that name. What an earlier sandbox left
// there is kept beside it, so that each log tells of one sandbox.
func (d *Directory) Log(name string) (string, error) {
	path := d.Path(name + ".log")
	if err := os.Rename(path, path+".old"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("setting the old log of %s aside: %w", name, err)
	}
	return path, nil
}
