//go:build !linux

package node

import (
	"context"
	"runtime"
)

// Inside is never so.
func Inside() bool { return false }

// Enter refuses.
func Enter(context.Context, Entry) error { return refuse(runtime.GOOS, 0) }

// Down refuses.
func Down(context.Context) error { return refuse(runtime.GOOS, 0) }

// First refuses.
func First(context.Context, <-chan struct{}, string, []string) (int, error) {
	return 0, refuse(runtime.GOOS, 0)
}

// Check refuses.
func Check(context.Context) error { return refuse(runtime.GOOS, 0) }

// Try refuses.
func Try(context.Context) error { return refuse(runtime.GOOS, 0) }
