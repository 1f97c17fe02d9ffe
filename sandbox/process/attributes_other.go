//go:build unix && !linux

package process

import "syscall"

// attributes are those of every child: a group of its own. Only Linux can bind
// its life to ours as well.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
