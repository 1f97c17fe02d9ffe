package process

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
)

// errSpawnerClosed is returned for a start after Close.
var errSpawnerClosed = errors.New("the spawner is closed")

// Spawner starts processes that end with it. Linux kills them when the thread
// that forked them ends, and the Go runtime may end any thread but a locked
// one; so a single goroutine, locked to its thread, forks them all. That thread
// ends when Close is called or when this process ends, by whatever signal.
// Where the system has no such service only Close keeps the promise.
type Spawner struct {
	starts chan start
	closed chan struct{}
	once   sync.Once
}

// start asks for a command to be started.
type start struct {
	cmd    *exec.Cmd
	result chan error
}

// NewSpawner returns a Spawner. Call Close only when its processes are gone:
// those that are not are killed.
func NewSpawner() *Spawner {
	s := &Spawner{starts: make(chan start), closed: make(chan struct{})}
	go s.run()
	return s
}

// run forks. It never unlocks its thread, so that the thread ends with it.
func (s *Spawner) run() {
	runtime.LockOSThread()
	for {
		select {
		case request := <-s.starts:
			request.result <- request.cmd.Start()
		case <-s.closed:
			return
		}
	}
}

// Close ends the thread that the processes depend on. It may be called twice.
func (s *Spawner) Close() {
	s.once.Do(func() { close(s.closed) })
}

// start forks cmd in a process group of its own: a signal to the group of this
// process reaches this process alone, which then stops its children in order.
func (s *Spawner) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = attributes()
	request := start{cmd: cmd, result: make(chan error, 1)}
	select {
	case s.starts <- request:
		return <-request.result
	case <-s.closed:
		return errSpawnerClosed
	}
}
