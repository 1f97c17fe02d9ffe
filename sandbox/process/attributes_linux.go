package process

import "syscall"

// attributes are those of every child: a group of its own, and death with the
// thread that forked it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
