//go:build unix && !linux

package world

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
