package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

// gate is the file descriptor by which the first process learns that its link is there.
const gate = 3

// namespaces are those that a node has of its own.
const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET

// Inside reports whether this process lives in the namespaces already.
func Inside() bool { return os.Getenv(marker) != "" }

// Enter runs the sandbox once more, in namespaces of its own, and returns when it has ended
// and nothing of it is left on the machine.
func Enter(ctx context.Context, e Entry) error {
	if err := Refuse(); err != nil {
		return err
	}
	if err := ensurePackages(ctx, e.Say); err != nil {
		return err
	}
	m, err := take(stateFile, "/")
	if err != nil {
		return err
	}
	defer m.release()
	lasting := context.WithoutCancel(ctx)
	if err := m.clean(lasting); err != nil {
		return err
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("looking at the machine's addresses: %w", err)
	}
	if err := checkRange(addresses); err != nil {
		return err
	}
	if err := prepareFolders(e.Dir); err != nil {
		return err
	}
	err = m.prepare()
	if err == nil {
		err = e.run(ctx)
	}
	return errors.Join(err, m.clean(lasting))
}

// Down takes back what a node has left on the machine that could not do so itself.
func Down(ctx context.Context) error {
	if err := Refuse(); err != nil {
		return err
	}
	m, err := take(stateFile, "/")
	if err != nil {
		return err
	}
	defer m.release()
	return m.clean(ctx)
}

// run starts the first process and returns when it has ended, and with it all others.
func (e Entry) run(ctx context.Context) error {
	// The kernel kills the first process when the thread that forked it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	reader, writer, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("preparing the first process of the node: %w", err)
	}
	defer writer.Close()
	cmd := exec.Command("/proc/self/exe", append([]string{Init, "--dir=" + e.Dir, "--"}, e.Args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{reader}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid: true, Pdeathsig: syscall.SIGKILL,
		Cloneflags: namespaces,
	}
	err = cmd.Start()
	_ = reader.Close() // the child has it
	if err != nil {
		return fmt.Errorf("starting the first process of the node: %w", err)
	}
	if err := connect(ctx, cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return err
	}
	if _, err := writer.Write([]byte{1}); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return fmt.Errorf("telling the node that it is connected: %w", err)
	}
	ended := make(chan struct{})
	defer close(ended)
	go pass(ctx, e.Hurry, ended, cmd.Process)
	return codeOf(cmd.Wait())
}

// pass hands on that the sandbox is to end, and then that somebody is in a hurry.
func pass(ctx context.Context, hurry, ended <-chan struct{}, p *os.Process) {
	for _, told := range []<-chan struct{}{ctx.Done(), hurry} {
		select {
		case <-told:
			_ = p.Signal(syscall.SIGTERM) // if it has ended, that is what was wanted
		case <-ended:
			return
		}
	}
}

// codeOf makes an *ExitError of the end of a process.
func codeOf(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &ExitError{Code: max(exit.ExitCode(), 1)}
	}
	return err
}

// connect makes the link between the machine and the network of the process.
func connect(ctx context.Context, pid int) error {
	for _, args := range [][]string{
		{"link", "add", hostLink, "type", "veth", "peer", "name", nodeLink, "netns", strconv.Itoa(pid)},
		{"address", "add", hostAddress + linkPrefix, "dev", hostLink},
		{"link", "set", hostLink, "up"},
	} {
		if err := ip(ctx, args...); err != nil {
			return fmt.Errorf("connecting the node with the machine: %w", err)
		}
	}
	return nil
}
